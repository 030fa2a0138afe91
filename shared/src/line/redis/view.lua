#!lua flags=no-writes
-- Says how a queue stands.
-- include: clock
-- KEYS: waiting ready active ended config state journal aside load
-- ARGV: given_us
-- Output: {'no-queue'}
--         {'view', now_ms, in line, ready, active, ended, journal records, records set aside,
--          fields of config, fields of state, fields of load}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local journal, aside, load = KEYS[7], KEYS[8], KEYS[9]
local given_us = ARGV[1]

local fields = redis.call('HGETALL', config)
if #fields == 0 then
  return { 'no-queue' }
end
local now_ms = math.floor(line_time_us(given_us, tonumber(redis.call('HGET', state, 'v'))) / 1000)
return { 'view', now_ms, redis.call('ZCARD', waiting), redis.call('ZCARD', ready), redis.call('ZCARD', active),
  redis.call('HLEN', ended), redis.call('XLEN', journal), redis.call('XLEN', aside), fields, redis.call('HGETALL', state),
  redis.call('HGETALL', load) }
