-- Keeps which called visitors are present: see domain/presence.rs. `present` has the places of those who are. `seen` has
-- the last check-in of an entry by the presence clock, in milliseconds, and the negative of it once the entry is not
-- present any more. Of a visitor who has entered and was told to poll at once, it has the negative of that time, less
-- half a millisecond. Include `lanes` before this file.

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
  redis.call('ZADD', keys.seen, 'GT', string.format('%.0f', seen_ms), id)
  if redis.call('ZADD', keys.present, string.format('%.0f', place), id) == 1 and place <= progress.passed_through then
    -- An absent entry is back: the visitors behind it have one more ahead.
    progress.gone_ahead, progress.absent = progress.gone_ahead - 1, progress.absent - 1
    return write_lane(keys.state, find_lane(place), progress)
  end
end

-- Whether the visitor has ever checked in, given what `seen` has of the entry.
local function has_checked_in(last_seen)
  return last_seen and tonumber(last_seen) % 1 == 0 or false
end

-- Notes that a visitor has entered at a place that is called, and is told to poll at once.
local function call_newcomer(keys, id, now_ms)
  -- The clock is that of the last tick, and the next one moves it on by so much at most: see presence_tick.lua.
  local PRESENCE_STEP_MAX_MS = 5000
  local clock_ms, at_ms = string.match(redis.call('HGET', keys.state, 'presence') or '', '^(%d+) (%d+)')
  if clock_ms then
    local since_ms = math.max(math.min(now_ms - tonumber(at_ms), PRESENCE_STEP_MAX_MS), 0)
    redis.call('ZADD', keys.seen, string.format('%.1f', 0.5 - tonumber(clock_ms) - since_ms), id)
  end
end

-- Forgets the presence of an entry that the caller has removed from `waiting`. Returns whether it was absent.
local function forget_presence(keys, id, place)
  redis.call('ZREM', keys.seen, id)
  if redis.call('ZREM', keys.present, id) == 1 then
    return false
  end
  local lane = find_lane(place)
  local progress = read_lane(keys.state, lane)
  if progress.absent > 0 and place <= progress.passed_through then
    progress.absent = progress.absent - 1
    write_lane(keys.state, lane, progress)
    return true
  end
  return false
end

-- Counts an entry that the caller has put back into `waiting`. It is absent if the place was passed over, unless it
-- `was_present`. That is no departure and no arrival, so `gone_ahead_offset` balances what it does to the counts, unless the
-- entry `was_absent` until now.
local function put_back(keys, id, place, was_present, was_absent)
  local lane, clock_ms = find_lane(place), read_presence_ms(keys.state)
  local progress = read_lane(keys.state, lane)
  if not was_absent then
    redis.call('HINCRBY', keys.state, 'gone_ahead_offset', 1)
  end
  if clock_ms and place <= progress.passed_through then
    progress.absent = progress.absent + 1
  else
    progress.gone_ahead, progress.speed_gone_ahead = progress.gone_ahead - 1, progress.speed_gone_ahead - 1
  end
  write_lane(keys.state, lane, progress)
  if clock_ms and was_present then
    mark_present(keys, id, place, progress, clock_ms)
  elseif clock_ms then
    redis.call('ZADD', keys.seen, string.format('%.0f', -clock_ms), id)
  end
end
