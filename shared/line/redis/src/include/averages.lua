-- What the moving averages are made of: see domain/estimate/windows.rs.

-- Turns a window that is over, whose mark is of `at_ms`: `counted` stands in the order of `names`, the moment first.
local function turn_window(state, window, length_ms, at_ms, counted)
  local age_ms = counted[1] - at_ms
  if at_ms > 0 and age_ms < length_ms then
    return
  end
  local names = { 'at_ms', 'served', 'gone', 'expired', 'no_shows', 'left', 'taken_seconds', 'waiting_seconds' }
  local fields = {}
  for i, name in ipairs(names) do
    local mark = window .. '_' .. name
    local before = counted[i]
    if at_ms > 0 and age_ms < 2 * length_ms then
      -- A window that an earlier release began lacks what is new.
      before = redis.call('HGET', state, mark) or counted[i]
    end
    local next = #fields
    fields[next + 1], fields[next + 2] = mark, counted[i]
    fields[next + 3], fields[next + 4] = window .. '_before_' .. name, before
  end
  redis.call('HSET', state, unpack(fields))
end

-- Since when it has been so, where it is.
local function since_ms(is_so, before_ms, now_ms)
  if not is_so then
    return 0
  end
  return before_ms > 0 and before_ms or now_ms
end

-- Turns the windows that are over: `taken_seconds` and `waiting_seconds` are the sums up to now.
local function turn_windows(state, now_ms, short_ms, long_ms, in_line, taken, taken_seconds, waiting_seconds)
  local s = redis.call('HMGET', state, 'short_at_ms', 'long_at_ms')
  local short_at_ms, long_at_ms = tonumber(s[1] or 0), tonumber(s[2] or 0)
  if short_at_ms > 0 and now_ms - short_at_ms < short_ms and long_at_ms > 0 and now_ms - long_at_ms < long_ms then
    return
  end
  local t = redis.call('HMGET', state, 'entered', 'fast_tracked', 'promoted', 'expired', 'no_shows')
  local served = t[2] + t[3]
  local counted = { now_ms, served, served - taken, tonumber(t[4]), tonumber(t[5]), t[1] - served - in_line,
    taken_seconds, waiting_seconds }
  turn_window(state, 'short', short_ms, short_at_ms, counted)
  turn_window(state, 'long', long_ms, long_at_ms, counted)
end
