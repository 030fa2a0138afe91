#!lua flags=allow-oom
-- Records that the backup has the tally of a queue.
-- allow-oom: this script only overwrites a number, which takes no more memory, so it may run at maxmemory.
-- include: hashes line line_table
-- KEYS: config state tally
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   tally: hash, the waits, the stays and the peak since the generation began, and the totals before the queue was restored
-- ARGV: epoch v
--   epoch, v: the version of the tally that the backup has
-- Output: {'no-queue'}: Redis does not have the queue
--         {'acknowledged'}: the version is recorded, unless it is of another epoch or an earlier one
local config, state, tally = KEYS[1], KEYS[2], KEYS[3]
local epoch, v = tonumber(ARGV[1]), tonumber(ARGV[2])

local line = read_line_fields(state)
if not line or redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
if epoch == line.epoch and v > tonumber(redis.call('HGET', tally, 'stored_v') or 0) then
  redis.call('HSET', tally, 'stored_v', ARGV[2])
end
return { 'acknowledged' }
