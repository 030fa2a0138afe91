#!lua flags=allow-oom
-- Raises the mark by which a line that comes back old is known: the backup's fence is never above it but then. A queue
-- where nothing changed since the last mark keeps that one.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- KEYS: config state
-- ARGV: epoch fence
-- Output: {'no-queue'}
--         {'other'}, the queue is of another epoch
--         {'old'}, the mark is below the fence
--         {'same'}
--         {'marked', mark}
local config, state = KEYS[1], KEYS[2]
local epoch, fence = ARGV[1], tonumber(ARGV[2])

local of = redis.call('HGET', config, 'epoch')
if not of then
  return { 'no-queue' }
end
if of ~= epoch then
  return { 'other' }
end
local s = redis.call('HMGET', state, 'v', 'fence', 'fence_v')
local mark = tonumber(s[2] or 0)
if mark < fence then
  return { 'old' }
end
if s[1] == s[3] then
  return { 'same' }
end
redis.call('HSET', state, 'fence', mark + 1, 'fence_v', s[1])
return { 'marked', mark + 1 }
