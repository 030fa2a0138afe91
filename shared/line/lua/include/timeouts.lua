-- Ends entries whose time ran out. Include `scores`, `visits` and `tally` before this file. `tick` has what all ends of one
-- tick have in common: `epoch`, `v` and `now_ms`.

-- Stores the ends of entries that the caller has removed from their sorted set. `visit_steps` has the visit and the step
-- of each, and `deadlines` the time that ran out. Returns their part of the journal record: 'id visit step deadline_ms …'.
local function store_timeouts(keys, tick, ids, visit_steps, deadlines, how, total)
  -- An end has the form that include/end.lua describes.
  local version, way = string.format('%.0f %.0f ', tick.epoch, tick.v), string.format(' %s %.0f', how, tick.now_ms)
  local ends, list = {}, {}
  for i, id in ipairs(ids) do
    local fact = visit_steps[i] .. ' ' .. deadlines[i]
    ends[2 * i - 1], ends[2 * i] = id, version .. fact .. way
    list[i] = id .. ' ' .. fact
  end
  redis.call('HSET', keys.ended, unpack(ends))
  if redis.call('EXISTS', keys.settled) == 1 then
    redis.call('ZREM', keys.settled, unpack(ids))
  end
  redis.call('HDEL', keys.visits, unpack(ids))
  hashes.add(keys.state, total, #ids)
  return table.concat(list, ' ')
end

-- Removes at most `limit` entries whose deadline has passed from a set. Returns how many, and their part of the journal
-- record, with the deadlines in line time. `tick.stays` gets how long the sessions lasted that ran out.
local function remove_timed_out(keys, tick, set, clock_ms, limit, how, total)
  local bound = string.format('%.0f', clock_ms)
  local due = limit > 0 and redis.call('ZRANGEBYSCORE', set, '-inf', bound, 'WITHSCORES', 'LIMIT', 0, limit) or {}
  local count = #due / 2
  if count == 0 then
    return 0, ''
  end
  local ids = {}
  for i = 1, count do
    ids[i] = due[2 * i - 1]
  end
  local visit_texts = redis.call('HMGET', keys.visits, unpack(ids))
  -- Nearly all ready entries have the same deadline as the one before, so few numbers are left to format.
  local visit_steps, deadlines, last_score, deadline_ms = {}, {}, nil, nil
  for i = 1, count do
    local score, visit_text = due[2 * i], visit_texts[i]
    if score ~= last_score then
      last_score, deadline_ms = score, string.format('%.0f', score + tick.now_ms - clock_ms)
    end
    -- A place alone is a number. `%d` formats it exactly, as a 64-bit integer, and faster than `%.0f`.
    local place = tonumber(visit_text)
    visit_steps[i] = place and string.format('%d 1', place % ORDER_RANGE) or string.match(visit_text, '^%d+ %d+')
    deadlines[i] = deadline_ms
  end
  if how == 'expired' then
    tick.stays = durations.new()
    for i = 1, count do
      local _, _, _, _, _, began_at_ms = parse_visit(visit_texts[i])
      if began_at_ms then
        durations.add(tick.stays, deadlines[i] - began_at_ms)
      end
    end
    hashes.add(keys.state, 'stayed_ms', tick.stays.sum_ms)
    hashes.add(keys.state, 'stays', tick.stays.count)
  end
  redis.call('ZREMRANGEBYRANK', set, 0, count - 1)
  return count, store_timeouts(keys, tick, ids, visit_steps, deadlines, how, total)
end

-- Frees the slots that are not held any more, at most `limit` of them. Their visits ended when their visitors left, so there
-- is nothing to write. Returns how many are still held.
local function free_held_slots(keys, now_ms, limit)
  local held = redis.call('ZCARD', keys.held)
  local due = held > 0 and limit > 0
    and redis.call('ZRANGEBYSCORE', keys.held, '-inf', string.format('%.0f', now_ms), 'LIMIT', 0, limit) or {}
  if #due > 0 then
    redis.call('ZREM', keys.held, unpack(due))
    redis.call('HDEL', keys.visits, unpack(due))
  end
  return held - #due
end
