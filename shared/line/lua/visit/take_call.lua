#!lua flags=allow-oom
-- Counts one call of an entry to a protected API, if the limit allows it: the same rule as in
-- shared/domain/src/call_limit.rs.
-- allow-oom: the key is small and expires within the period of the limit, and a full Redis must not lock out the
-- visitors who were let in.
-- include: clock
-- KEYS: calls
--   calls: string, the theoretical arrival time of the entry's next call, in Unix microseconds; one key per entry
-- ARGV: given_us interval_us period_us
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   interval_us: the time in which one call comes back, in microseconds
--   period_us: how far the arrival time may be ahead of the clock, in microseconds
-- Output: {'decided', wait_us}: the call is counted if `wait_us` is 0; otherwise a call is allowed in this time
local calls = KEYS[1]
local given_us, interval_us, period_us = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local now_us = read_server_time_us(given_us)
local latest_us = now_us + period_us
local stored_us = tonumber(redis.call('GET', calls) or 0)
-- An arrival time after `latest_us` is of a time before the clock was set back. It is stored again, because otherwise the
-- entry would wait until the clock catches up.
local arrival_us = math.min(math.max(stored_us, now_us), latest_us)
local next_us, wait_us = arrival_us + interval_us, 0
if next_us > latest_us then
  next_us, wait_us = arrival_us, next_us - latest_us
end
if next_us ~= stored_us then
  redis.call('SET', calls, string.format('%.0f', next_us), 'PX', math.ceil((next_us - now_us) / 1000))
end
return { 'decided', wait_us }
