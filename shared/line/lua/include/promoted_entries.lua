-- What `promote.lua` finds out about the entries that it promotes. Include `scores`, `visits` and `tally` before this
-- file. `head` is a list of entries and places.

-- Finds the entries in `head` that wait for their second turn or have a drawn place, and replaces their places there by what
-- `visits` is to store. Returns two parts of the journal record: the entries with their first turn, and those with their second one.
local function separate_second_turns(visits, head)
  local ids, first, second = {}, {}, {}
  for i = 1, #head, 2 do
    ids[#ids + 1] = head[i]
  end
  for i, visit_text in ipairs(redis.call('HMGET', visits, unpack(ids))) do
    local visit, step = parse_visit(visit_text)
    local list, place = step == 2 and second or first, tonumber(head[2 * i])
    list[#list + 1] = ids[i]
    list[#list + 1] = is_drawn(place) and describe_place(place, visit) or head[2 * i]
    if visit then
      head[2 * i] = string.format('%.0f %.0f', visit, step + 1)
    end
  end
  return table.concat(first, ' '), table.concat(second, ' ')
end

-- Measures the waits of the entries in `head`: see durations in tally.lua. No wait begins before the opening: see
-- `waiting_since_ms` in domain/opening.rs.
function durations.measure_waits(head, now_ms, opens_at_ms)
  local waits, since_era_ms = durations.new(), now_ms - ERA_MS
  local opened_at_ms = opens_at_ms <= now_ms and opens_at_ms or 0
  local wait_max_ms = opened_at_ms > 0 and now_ms - opened_at_ms or math.huge
  local drawn_wait_ms = opened_at_ms > 0 and now_ms - opened_at_ms or 0
  for i = 2, #head, 2 do
    -- In a crowded millisecond the join time of a place may be ahead of the clock.
    local order = head[i] % ORDER_RANGE
    local wait_ms = since_era_ms - (order - order % ARRIVALS_PER_MS) / ARRIVALS_PER_MS
    durations.add(waits, is_drawn(head[i]) and drawn_wait_ms or math.min(wait_ms, wait_max_ms))
  end
  return waits
end
