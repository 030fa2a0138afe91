#!lua
-- Drops journal records that the backup has, and forgets entries whose end it has.
-- KEYS: ended journal config
-- ARGV: records ...
-- ...:  as many journal keys as `records` says, then members
-- Output: {'no-queue'}
--         {'settled'}
local ended, journal, config = KEYS[1], KEYS[2], KEYS[3]
local records = tonumber(ARGV[1])

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
for i = 2, #ARGV do
  if i <= records + 1 then
    redis.call('XDEL', journal, ARGV[i])
  else
    redis.call('SREM', ended, ARGV[i])
  end
end
return { 'settled' }
