#!lua
-- Puts a queue back from its staged sets, `config` last: until then every script says that there is no queue. Whoever
-- comes second changes nothing.
-- include: new_state fields
-- KEYS: waiting ready active ended config state staged_waiting staged_ready staged_active
-- ARGV: now_us last_order v ...
-- ...:  field value field value …, the whole of the configuration
-- Output: {'created'} | {'same'}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local staged_waiting, staged_ready, staged_active = KEYS[7], KEYS[8], KEYS[9]
local now_us, last_order, v = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

if redis.call('EXISTS', config) == 1 then
  redis.call('UNLINK', staged_waiting, staged_ready, staged_active)
  return { 'same' }
end
local new, list = given_fields(4)
redis.call('UNLINK', waiting, ready, active, ended)
local staged = { { staged_waiting, waiting }, { staged_ready, ready }, { staged_active, active } }
for _, move in ipairs(staged) do
  if redis.call('EXISTS', move[1]) == 1 then
    redis.call('RENAME', move[1], move[2])
    redis.call('PERSIST', move[2])
  end
end
new_state(state, math.max(now_us, v), math.floor(now_us / 1000), 0, last_order, new)
redis.call('HSET', config, unpack(list))
return { 'created' }
