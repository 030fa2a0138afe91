#!lua
-- Puts a queue back from its staged sets, `config` last: until then every script says that there is no queue. It takes the
-- place of a queue of a lower epoch; where there is one of this epoch or a later one, or where somebody with a later one
-- is at work, nothing changes: of any number of restorers the last to begin wins, however late the others are.
-- What is left in `journal`, `aside` and `ended` stays, unless it is of another generation.
-- include: new_state fields
-- KEYS: waiting ready active ended sought journal aside load config state lost staged_waiting staged_ready staged_active
-- ARGV: now_us last_order v fence entries ...
-- ...:  field value field value …, the whole of the configuration
-- Output: {'created'} | {'same'} | {'older'}
--         {'incomplete'}, a staged set is gone: the server's clock jumped past its time to live
local waiting, ready, active, ended, sought = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local journal, aside, load, config, state, lost = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local staged_waiting, staged_ready, staged_active = KEYS[12], KEYS[13], KEYS[14]
local now_us, last_order, v, fence = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local entries = tonumber(ARGV[5])

local new, list = given_fields(6)
local epoch = tonumber(new.epoch)
local old = redis.call('HMGET', config, 'epoch', 'generation')
local left = redis.call('HMGET', lost, 'epoch', 'generation')
local there, begun = tonumber(old[1] or 0), tonumber(left[1] or 0)
if there >= epoch or begun > epoch then
  redis.call('UNLINK', staged_waiting, staged_ready, staged_active)
  return { there == epoch and 'same' or 'older' }
end
local held = 0
for _, staged in ipairs({ staged_waiting, staged_ready, staged_active }) do
  held = held + redis.call('ZCARD', staged)
end
if held ~= entries then
  return { 'incomplete' }
end
local generation = left[2] or old[2]
if generation and generation ~= new.generation then
  redis.call('UNLINK', journal, aside, ended)
end
redis.call('UNLINK', waiting, ready, active, sought, load, config, lost)
local staged = { { staged_waiting, waiting }, { staged_ready, ready }, { staged_active, active } }
for _, move in ipairs(staged) do
  if redis.call('EXISTS', move[1]) == 1 then
    redis.call('RENAME', move[1], move[2])
    redis.call('PERSIST', move[2])
  end
end
new_state(state, math.max(now_us, v), math.floor(now_us / 1000), 0, last_order, new)
redis.call('HSET', state, 'fence', fence)
redis.call('HSET', config, unpack(list))
return { 'created' }
