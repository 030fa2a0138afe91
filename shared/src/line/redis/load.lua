#!lua
-- Keeps the protected service's last load report. Nothing acts on it yet: the adaptive pace will read it.
-- include: clock
-- KEYS: load config state
-- ARGV: given_us ttl_ms ...
-- ...: field value field value …
-- Output: {'no-queue'}
--         {'kept', now_ms}
local load, config, state = KEYS[1], KEYS[2], KEYS[3]
local given_us, ttl_ms = ARGV[1], ARGV[2]

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local now_ms = math.floor(line_time_us(given_us, tonumber(redis.call('HGET', state, 'v'))) / 1000)
local fields = { 'at_ms', now_ms }
for i = 3, #ARGV do
  fields[i] = ARGV[i]
end
-- A field that this report leaves out must not be the last one's.
redis.call('DEL', load)
redis.call('HSET', load, unpack(fields))
redis.call('PEXPIRE', load, ttl_ms)
return { 'kept', now_ms }
