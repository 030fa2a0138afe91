-- The server's clock in Unix microseconds. `given_us` is empty but for tests.
local function server_time_us(given_us)
  local us = tonumber(given_us)
  if not us then
    local time = redis.call('TIME')
    us = time[1] * 1000000 + time[2]
  end
  return us
end

-- Line time in Unix microseconds, whether the clocks are too far apart to go by, and how far the server's is ahead of
-- the caller's, in milliseconds: see domain/clock.rs. `v` and `heartbeat_ms` are the last times that the line took down:
-- it never goes back behind them.
local function line_time(given_us, witness_ms, offset_ms, v, heartbeat_ms)
  local us = server_time_us(given_us) + (offset_ms or 0) * 1000
  local ahead_us = us - witness_ms * 1000
  local apart = math.abs(ahead_us) > 5000000
  if apart then
    us = math.min(us, witness_ms * 1000)
  end
  return math.max(us, v, (heartbeat_ms or 0) * 1000), apart, math.floor(ahead_us / 1000)
end

-- The version of a change made now.
local function next_version(us, v)
  return math.max(v + 1, us)
end
