#!lua flags=allow-oom
-- Stores how many shards a consistency check has finished. With the last shard the check ends.
-- allow-oom: this script only overwrites numbers, which takes no more memory, so it may run at maxmemory.
-- include: hashes line line_table clock
-- KEYS: config state
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms shards shard_count
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   shards: how many shards the check has finished
--   shard_count: how many shards there are; the check ends when `shards` is the same
-- Output: {'no-queue'}: Redis does not have the queue
--         {'recorded', now_ms}: the progress is stored
local config, state = KEYS[1], KEYS[2]
local given_us, witness_ms, shards, shard_count = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local line = read_line_fields(state)
if not line or redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local us = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)
if shards == shard_count then
  redis.call('HSET', state, 'check_shards', 0, 'check_heard_ms', 0, 'checked_at_ms', now_ms, 'checked_v',
    redis.call('HGET', state, 'check_v') or 0)
else
  redis.call('HSET', state, 'check_shards', shards, 'check_heard_ms', now_ms)
end
return { 'recorded', now_ms }
