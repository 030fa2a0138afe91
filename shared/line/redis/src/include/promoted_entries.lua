-- What `promote.lua` finds out about the entries that it promotes. Include `scores` and `visits` before this file. `head`
-- is a list of entries and places.

-- Finds the entries in `head` that wait for their second turn, and replaces their places there by what `visits` is to
-- store. Returns two parts of the journal record: the entries with their first turn, and those with their second one.
local function separate_second_turns(visits, head)
  local ids, first, second = {}, {}, {}
  for i = 1, #head, 2 do
    ids[#ids + 1] = head[i]
  end
  for i, visit_text in ipairs(redis.call('HMGET', visits, unpack(ids))) do
    local list = visit_text and second or first
    list[#list + 1], list[#list + 2] = ids[i], head[2 * i]
    if visit_text then
      head[2 * i] = string.format('%.0f 3', (parse_visit(visit_text)))
    end
  end
  return table.concat(first, ' '), table.concat(second, ' ')
end

-- Returns the sum of the waits of the entries in `head`, and the longest wait among these and `waited_max_ms`, in
-- milliseconds.
local function measure_waits(head, now_ms, waited_max_ms)
  local waited_sum_ms, since_era_ms = 0, now_ms - ERA_MS
  for i = 2, #head, 2 do
    -- In a crowded millisecond the join time of a place may be ahead of the clock.
    local order = head[i] % ORDER_RANGE
    local wait_ms = since_era_ms - (order - order % ARRIVALS_PER_MS) / ARRIVALS_PER_MS
    if wait_ms > 0 then
      waited_sum_ms = waited_sum_ms + wait_ms
      if wait_ms > waited_max_ms then
        waited_max_ms = wait_ms
      end
    end
  end
  return waited_sum_ms, waited_max_ms
end
