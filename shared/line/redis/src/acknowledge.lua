#!lua flags=allow-oom
-- Drops records that the backup has, of the journal or set aside, and forgets ends that it has. Of an entry that came again and ended again,
-- the later end stays.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- What is sought has to be sought again: its record may be older than the end.
-- A queue that was dropped to be put back is settled, too.
-- KEYS: ended sought journal aside config lost
-- ARGV: records ...
-- ...:  as many keys of records as `records` says, `aside:` before one that was set aside, then member epoch v member epoch v …
-- Output: {'no-queue'}
--         {'settled'}
local ended, sought, journal, aside = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local config, lost = KEYS[5], KEYS[6]
local records = tonumber(ARGV[1])

if redis.call('EXISTS', config, lost) == 0 then
  return { 'no-queue' }
end
for i = 2, records + 1 do
  local key_aside = string.match(ARGV[i], '^aside:(.+)$')
  redis.call('XDEL', key_aside and aside or journal, key_aside or ARGV[i])
end
local seeking = redis.call('EXISTS', sought) == 1
for i = records + 2, #ARGV, 3 do
  local epoch, v = string.match(redis.call('HGET', ended, ARGV[i]) or '', '^(%d+) (%d+)')
  -- The line that was put back may have begun at a lower `v` than the one before it had got to.
  local later_epoch = epoch and tonumber(ARGV[i + 1]) - tonumber(epoch)
  if epoch and (later_epoch > 0 or (later_epoch == 0 and tonumber(v) <= tonumber(ARGV[i + 2]))) then
    redis.call('HDEL', ended, ARGV[i])
    if seeking then
      redis.call('HDEL', sought, ARGV[i])
    end
  end
end
return { 'settled' }
