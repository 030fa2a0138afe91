#!lua flags=allow-oom
-- Drops a queue that is to be put back, so that every script says that there is none, and notes for which epoch: a
-- restore of an earlier one then comes too late. What may not be in the backup yet stays, and of which generation it is.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- KEYS: waiting ready active sought load config state lost
-- ARGV: epoch
-- Output: {'forgotten'}
--         {'later'}, it is of this epoch or a later one, or somebody with a later one is at work
local waiting, ready, active, sought, load = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local config, state, lost = KEYS[6], KEYS[7], KEYS[8]
local epoch = tonumber(ARGV[1])

local c = redis.call('HMGET', config, 'epoch', 'generation')
if tonumber(c[1] or 0) >= epoch or tonumber(redis.call('HGET', lost, 'epoch') or 0) > epoch then
  return { 'later' }
end
if c[2] then
  redis.call('HSET', lost, 'generation', c[2])
end
redis.call('HSET', lost, 'epoch', ARGV[1])
redis.call('UNLINK', waiting, ready, active, sought, load, config, state)
return { 'forgotten' }
