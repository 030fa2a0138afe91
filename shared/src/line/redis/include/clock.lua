-- Line time in Unix microseconds: the server's, but never before the last change, even where the clock goes back.
-- `given` is empty but for tests.
local function line_time_us(given, v)
  local us = tonumber(given)
  if not us then
    local time = redis.call('TIME')
    us = time[1] * 1000000 + time[2]
  end
  return math.max(us, v)
end

-- The version of a change made now.
local function next_version(us, v)
  return math.max(v + 1, us)
end
