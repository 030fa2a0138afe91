#!lua
-- Stores the last load report of the protected service. Only the statistics show it yet: the adaptive pace will read
-- it.
-- include: line line_table clock
-- KEYS: load config state
--   load: hash, the protected service's last load report
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms ttl_ms ...
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   ttl_ms: Redis drops the report after this many milliseconds
--   ...: the report, as field value field value …
-- Output: {'no-queue'}: Redis does not have the queue
--         {'recorded', now_ms}: the report is stored
local load, config, state = KEYS[1], KEYS[2], KEYS[3]
local given_us, witness_ms, ttl_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local FIRST_VALUE = 4 -- the index in ARGV at which fields and values begin

local line = read_line_fields(state)
if not line or redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local us = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)
local fields = { 'at_ms', now_ms }
for i = FIRST_VALUE, #ARGV do
  fields[#fields + 1] = ARGV[i]
end
-- A field that this report lacks must not keep the value of the last report.
redis.call('DEL', load)
redis.call('HSET', load, unpack(fields))
redis.call('PEXPIRE', load, ttl_ms)
return { 'recorded', now_ms }
