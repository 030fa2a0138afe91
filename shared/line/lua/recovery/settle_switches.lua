#!lua flags=allow-oom
-- Notes that the backup has the switches that were given while it was away. From then on its configuration counts again.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- KEYS: config
--   config: hash, the queue's configuration; without it Redis does not have the queue
-- ARGV: serial
--   serial: the serial of the last switch that the backup has
-- Output: {'no-queue'}: Redis does not have the queue
--         {'settled'}: no switch is unsaved any more
--         {'later'}: nothing changed, because a later switch was given
local config = KEYS[1]
local serial = ARGV[1]

local epoch, switch_serial = unpack(redis.call('HMGET', config, 'epoch', 'switch_serial'))
if not epoch then
  return { 'no-queue' }
end
if tonumber(switch_serial or 0) > tonumber(serial) then
  return { 'later' }
end
redis.call('HDEL', config, 'unsaved_switches')
return { 'settled' }
