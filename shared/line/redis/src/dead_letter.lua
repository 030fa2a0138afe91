#!lua flags=allow-oom
-- Takes a record out of the journal and keeps it aside, word for word: it may be one that makes no sense.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- KEYS: journal aside config
-- ARGV: key aside_max
-- Output: {'no-queue'}
--         {'set-aside'}
--         {'gone'}
--         {'full'}
local journal, aside, config = KEYS[1], KEYS[2], KEYS[3]
local key, aside_max = ARGV[1], tonumber(ARGV[2])

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local record = redis.call('XRANGE', journal, key, key)[1]
if not record then
  return { 'gone' }
end
-- No record of ours has a hundred fields: one that has cannot be taken apart in one call.
if redis.call('XLEN', aside) >= aside_max or #record[2] > 1000 then
  return { 'full' }
end
redis.call('XADD', aside, '*', unpack(record[2]))
redis.call('XDEL', journal, key)
return { 'set-aside' }
