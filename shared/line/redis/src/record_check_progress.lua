#!lua flags=allow-oom
-- Notes how many shards a check of a queue has been through: all of them is the end of it.
-- It writes numbers over numbers, so it runs also where the server's memory is full.
-- include: clock
-- KEYS: config state
-- ARGV: given_us witness_ms shards all
-- Output: {'no-queue'}
--         {'noted', now_ms}
local config, state = KEYS[1], KEYS[2]
local given_us, witness_ms, shards, all = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local s = redis.call('HMGET', state, 'v', 'check_v', 'offset_ms', 'heartbeat_ms')
local now_ms = math.floor(line_time(given_us, witness_ms, s[3], tonumber(s[1]), s[4]) / 1000)
if shards == all then
  redis.call('HSET', state, 'check_shards', 0, 'check_heard_ms', 0, 'checked_at_ms', now_ms, 'checked_v', s[2] or 0)
else
  redis.call('HSET', state, 'check_shards', shards, 'check_heard_ms', now_ms)
end
return { 'noted', now_ms }
