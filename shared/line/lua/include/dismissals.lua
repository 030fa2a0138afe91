-- Ends waits at a tick, and those of a finished queue. Include `timeouts` and `lanes` before this file.

-- Stores the ends of waits. The caller has removed the entries from `waiting`. `places` has the place of each. Returns
-- their part of the journal record.
local function store_ended_waits(keys, tick, ids, places, how, total)
  local visit_steps, deadlines = {}, {}
  for i, place in ipairs(places) do
    visit_steps[i], deadlines[i] = string.format('%d 0', place % ORDER_RANGE), '0'
  end
  for i, visit_text in ipairs(redis.call('HMGET', keys.visits, unpack(ids))) do
    if visit_text then
      local _, _, _, _, _, moved_at_ms = parse_visit(visit_text)
      visit_steps[i] = string.match(visit_text, '^%d+ %d+')
      deadlines[i] = moved_at_ms and string.format('%.0f', moved_at_ms) or '0'
    end
  end
  return store_timeouts(keys, tick, ids, visit_steps, deadlines, how, total)
end

-- Forgets the presence of entries that wait no more. `places` has the place of each.
local function forget_presences(keys, lanes, ids, places)
  for i, present_place in ipairs(redis.call('ZMSCORE', keys.present, unpack(ids))) do
    local progress = lanes[find_lane(places[i])]
    if progress and progress.absent > 0 and not present_place and places[i] <= progress.passed_through then
      progress.absent = progress.absent - 1
    end
  end
  redis.call('ZREM', keys.present, unpack(ids))
  redis.call('ZREM', keys.seen, unpack(ids))
end

-- Ends at most `limit` waiting entries, from the head of the line. Returns how many, and their part of the journal record.
local function dismiss_waiting(keys, tick, lanes, limit)
  local head = limit > 0 and redis.call('ZRANGE', keys.waiting, 0, limit - 1, 'WITHSCORES') or {}
  if #head == 0 then
    return 0, ''
  end
  local ids, places = {}, {}
  for i = 1, #head, 2 do
    ids[#ids + 1], places[#places + 1] = head[i], tonumber(head[i + 1])
  end
  redis.call('ZREMRANGEBYRANK', keys.waiting, 0, #ids - 1)
  forget_presences(keys, lanes, ids, places)
  return #ids, store_ended_waits(keys, tick, ids, places, 'dismissed', 'dismissed')
end
