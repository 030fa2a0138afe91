-- Ends the waits of visitors who have closed the page: see domain/closing.rs. Include `timeouts`, `visits` and `dismissals`
-- before this file.

local end_closed_pages
-- A script has at most 200 locals at once, so what only this function needs is in its block.
do
  local LEAVE_AFTER_CLOSE_MS = 15000

  -- Selects from entries and the times of their marks, `id ms id ms …`, those that still wait in the visit that was marked.
  -- Returns their ids, places, and visits with the step of an end.
  local function select_marked_waits(keys, marks)
    local ids, marked_ids, places, visit_steps = {}, {}, {}, {}
    for i = 1, #marks, 2 do
      marked_ids[#marked_ids + 1] = marks[i]
    end
    local scores = redis.call('ZMSCORE', keys.waiting, unpack(marked_ids))
    for i, visit_text in ipairs(redis.call('HMGET', keys.visits, unpack(marked_ids))) do
      local place = tonumber(scores[i])
      local visit = place and (parse_visit(visit_text) or place % ORDER_RANGE)
      if visit and math.floor(visit / ARRIVALS_PER_MS) + ERA_MS <= tonumber(marks[2 * i]) then
        ids[#ids + 1], places[#places + 1] = marked_ids[i], place
        visit_steps[#visit_steps + 1] = string.format('%.0f 6', visit)
      end
    end
    return ids, places, visit_steps
  end

  -- Lets at most `limit` visitors leave, those first who closed the page first. If `may_be_unheard`, requests of visitors
  -- may not have reached Redis lately, so no mark counts. Returns how many left, and their part of the journal record.
  function end_closed_pages(keys, tick, lanes, config, may_be_unheard, limit)
    if may_be_unheard then
      redis.call('UNLINK', keys.closing)
    end
    local due = limit > 0 and redis.call('ZRANGEBYSCORE', keys.closing, '-inf',
      string.format('%.0f', tick.now_ms - LEAVE_AFTER_CLOSE_MS), 'WITHSCORES', 'LIMIT', 0, limit) or {}
    if #due == 0 then
      return 0, ''
    end
    redis.call('ZREMRANGEBYRANK', keys.closing, 0, #due / 2 - 1)
    if hashes.get(config, 'leave_on_close') ~= '1' then
      return 0, ''
    end
    local ids, places, visit_steps = select_marked_waits(keys, due)
    if #ids == 0 then
      return 0, ''
    end
    redis.call('ZREM', keys.waiting, unpack(ids))
    forget_presences(keys, lanes, ids, places)
    local deadlines = {}
    for i = 1, #ids do
      deadlines[i] = '0'
    end
    return #ids, store_timeouts(keys, tick, ids, visit_steps, deadlines, 'left', 'left')
  end
end
