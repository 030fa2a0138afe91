#!lua
-- Keeps the protected service's last load report. Nothing acts on it yet: the adaptive pace will read it.
-- include: clock
-- KEYS: load config state
-- ARGV: given_us witness_ms ttl_ms ...
-- ...: field value field value …
-- Output: {'no-queue'}
--         {'kept', now_ms}
local load, config, state = KEYS[1], KEYS[2], KEYS[3]
local given_us, witness_ms, ttl_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local s = redis.call('HMGET', state, 'v', 'heartbeat_ms', 'offset_ms')
local us = line_time(given_us, witness_ms, s[3], tonumber(s[1]), s[2])
local now_ms = math.floor(us / 1000)
local fields = { 'at_ms', now_ms }
for i = 4, #ARGV do
  fields[i - 1] = ARGV[i]
end
-- A field that this report leaves out must not be the last one's.
redis.call('DEL', load)
redis.call('HSET', load, unpack(fields))
redis.call('PEXPIRE', load, ttl_ms)
return { 'kept', now_ms }
