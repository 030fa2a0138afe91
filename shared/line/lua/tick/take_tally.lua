#!lua flags=allow-oom
-- Takes the tally of a queue for storing it. Only one caller gets it each interval, and none does if the backup has it.
-- allow-oom: this script only overwrites numbers, which takes no more memory, so it may run at maxmemory.
-- include: hashes line line_table clock tally_reply
-- KEYS: config state tally
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   tally: hash, the waits, the stays and the peak since the generation began, and the totals before the queue was restored
-- ARGV: given_us witness_ms interval_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   interval_ms: the time between two tallies, in milliseconds
-- Output: {'no-queue'}: Redis does not have the queue
--         {'not-due'}: another caller took the tally within the interval, or the backup has it
--         {'tally', now_ms, epoch, generation, salt, v, totals, fields}: as of read_tally.lua
local config, state, tally = KEYS[1], KEYS[2], KEYS[3]
local given_us, witness_ms, interval_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local line = read_line_fields(state)
if not line or redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local us = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)
local taken_at_ms, stored_v = unpack(redis.call('HMGET', tally, 'taken_at_ms', 'stored_v'))
local passed_ms = now_ms - tonumber(taken_at_ms or 0)
-- A clock that was set back must not delay the tally.
local is_taken = passed_ms >= 0 and passed_ms < interval_ms
if is_taken or tonumber(stored_v or 0) == line.v then
  return { 'not-due' }
end
redis.call('HSET', tally, 'taken_at_ms', now_ms)
return describe_tally(config, state, tally, line, now_ms)
