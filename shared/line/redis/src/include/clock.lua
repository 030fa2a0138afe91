-- Reads the server's clock and computes line time: see domain/clock.rs.

-- Reads the server's clock, in Unix microseconds. Only a test sets `given_us`, and then that is the time.
local function read_server_time_us(given_us)
  local us = tonumber(given_us)
  if not us then
    local time = redis.call('TIME')
    us = time[1] * 1000000 + time[2]
  end
  return us
end

-- Computes line time. Returns
--   1. line time in Unix microseconds,
--   2. whether the clocks are too far apart to be trusted: the server's and the caller's, or the last line time is ahead
--      of both,
--   3. how far the server's clock is ahead of the caller's, in milliseconds.
-- `v` (microseconds) and `heartbeat_ms` are the last times that the queue stored: line time never goes back behind them.
-- Every call of every script runs this code, so it compares instead of calling functions of `math`.
local function read_line_time(given_us, witness_ms, v, heartbeat_ms, offset_ms)
  local APART_US = 5000000 -- the clocks may differ by this much: CLOCK_DIFFERENCE_MAX_MS in domain/clock.rs
  local us = read_server_time_us(given_us) + offset_ms * 1000
  local witness_us = witness_ms * 1000
  local ahead_us = us - witness_us
  local clocks_apart = ahead_us > APART_US or ahead_us < -APART_US
  local latest_us = us
  if us < witness_us then
    latest_us = witness_us
  elseif clocks_apart then
    us = witness_us
  end
  local last_us = heartbeat_ms * 1000
  if last_us < v then
    last_us = v
  end
  if us < last_us then
    us = last_us
    clocks_apart = clocks_apart or last_us - latest_us > APART_US
  end
  return us, clocks_apart, (ahead_us - ahead_us % 1000) / 1000
end

-- Returns the version of a change that is made at `us`, where `v` is the queue's last version.
local function next_version(us, v)
  return us > v and us or v + 1
end
