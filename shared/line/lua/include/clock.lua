-- Reads the server's clock and computes line time: see domain/clock.rs.

-- Reads the server's clock, in Unix microseconds. Only a test sets `given_us`, and then that is the time.
local function read_server_time_us(given_us)
  -- splice: server_time
  return server_us
end

-- Computes line time. Returns
--   1. line time in Unix microseconds,
--   2. whether the clocks are too far apart to be trusted,
--   3. how far the server's clock is ahead of the caller's, in milliseconds.
local function read_line_time(given_us, witness_ms, v, heartbeat_ms, offset_ms)
  -- splice: line_time
  return us, clocks_apart, (ahead_us - ahead_us % 1000) / 1000
end
