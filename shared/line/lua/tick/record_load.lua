#!lua flags=allow-oom
-- Stores the last load report of the protected service, which an adaptive pace follows: see include/adaptive_pace.lua.
-- include: hashes line line_table clock
-- KEYS: config state
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms ...
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   ...: the report, as field value field value …: healthy, and tps and latency_ms if the report has them
-- Output: {'no-queue'}: Redis does not have the queue
--         {'recorded', now_ms}: the report is stored
local config, state = KEYS[1], KEYS[2]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])

local FIRST_VALUE = 3 -- the index in ARGV at which fields and values begin

local line = read_line_fields(state)
if not line or redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local us = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)
redis.call('HSET', state, 'load', string.format('at_ms %.0f %s', now_ms, table.concat(ARGV, ' ', FIRST_VALUE)))
return { 'recorded', now_ms }
