-- Keeps which called visitors are present: see domain/presence.rs. `present` has the places of those who are. `seen` has
-- the last check-in of an entry by the presence clock, in milliseconds, and the negative of it once the entry is not
-- present any more. Half a millisecond is missing from it while the visitor has not checked in by a poll, but only by
-- entering. Include `lanes` before this file.

-- Reads the presence clock, in milliseconds, from the field `presence`. Returns nil while presence is switched off.
local function parse_presence_ms(clock)
  return clock and tonumber(string.match(clock, '^%d+'))
end

local function read_presence_ms(state)
  return parse_presence_ms(redis.call('HGET', state, 'presence'))
end

-- Marks a called waiting entry as present and last seen at `seen_ms`. `progress` is that of its lane. Returns what the
-- lane's field has if that changed.
local function mark_present(keys, id, place, progress, seen_ms)
  if place > progress.check_in_through then
    return
  end
  redis.call('ZADD', keys.seen, 'GT', string.format('%.1f', seen_ms), id)
  if redis.call('ZADD', keys.present, string.format('%.0f', place), id) == 1 and place <= progress.passed_through then
    -- An absent entry is back: the visitors behind it have one more ahead.
    progress.gone_ahead, progress.absent = progress.gone_ahead - 1, progress.absent - 1
    return write_lane(keys.state, find_lane(place), progress)
  end
end

-- Whether the visitor has checked in by a poll, given what `seen` has of the entry.
local function has_polled(last_seen)
  return last_seen and tonumber(last_seen) % 1 == 0 or false
end

-- The presence time that counts as the last check-in of a visitor who enters: such a visitor is present for `call_ms`, but
-- not longer than after a poll. `last_seen` is what `seen` has of the entry.
local function compute_entering_seen_ms(clock_ms, config, last_seen)
  local call_ms, presence_ms = unpack(redis.call('HMGET', config, 'call_ms', 'presence_ms'))
  local seen_ms = math.max(clock_ms + math.min(call_ms, presence_ms) - presence_ms, 2)
  return has_polled(last_seen) and seen_ms or seen_ms - 0.5
end

-- Forgets the presence of an entry that the caller has removed from `waiting`.
local function forget_presence(keys, id, place)
  redis.call('ZREM', keys.seen, id)
  if redis.call('ZREM', keys.present, id) == 1 then
    return
  end
  local lane = find_lane(place)
  local progress = read_lane(keys.state, lane)
  if progress.absent > 0 and place <= progress.passed_through then
    progress.absent = progress.absent - 1
    write_lane(keys.state, lane, progress)
  end
end

-- Counts an entry that the caller has put back into `waiting`. A visitor who `is_here` checks in by it; any other is
-- absent if the place was passed over.
local function put_back(keys, id, place, is_here)
  local lane, clock_ms = find_lane(place), read_presence_ms(keys.state)
  local progress = read_lane(keys.state, lane)
  if clock_ms and place <= progress.passed_through then
    progress.absent = progress.absent + 1
  else
    progress.gone_ahead = progress.gone_ahead - 1
  end
  write_lane(keys.state, lane, progress)
  if clock_ms and is_here then
    mark_present(keys, id, place, progress, clock_ms)
  elseif clock_ms then
    redis.call('ZADD', keys.seen, string.format('%.0f', -clock_ms), id)
  end
end
