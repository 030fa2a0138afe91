-- Computes line time from given_us, witness_ms, v, heartbeat_ms and offset_ms. Sets
--   us: line time in Unix microseconds
--   clocks_apart: whether the clocks are too far apart to be trusted: the server's and the caller's, or the last line time
--     is ahead of both
--   ahead_us: how far the server's clock is ahead of the caller's, in microseconds
-- v (microseconds) and heartbeat_ms are the last times that the queue stored: line time never goes back behind them.
-- Every call of every script runs this code, so it compares instead of calling functions of `math`.
-- splice: server_time
local APART_US = 5000000 -- the clocks may differ by this much: CLOCK_DIFFERENCE_MAX_MS in domain/clock.rs
local us = server_us + offset_ms * 1000
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
