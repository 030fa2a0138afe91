#!lua flags=allow-oom
-- Drops a queue that is about to be restored, so that every script answers that Redis does not have it. Stores the
-- epoch of the restore in `lost`, so that a restore of an earlier epoch comes too late. `journal`, `journaled`,
-- `deferred`, `dead_letters`, `ended` and `settled` stay, because the backup may lack what they hold, and `lost` keeps
-- their generation and the visit of their last place.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: hashes line line_table
-- KEYS: waiting ready active held visits present seen closing view config state lost tombstone tally
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   held: sorted set, entry whose slot is held -> when the slot becomes free, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   present: sorted set, called entry that checked in lately -> place
--   seen: sorted set, called entry -> last check-in by the presence clock, negative if it is not present
--   closing: sorted set, entry -> line time at which its visitor closed the page, in Unix milliseconds
--   view: string, a stored snapshot of the queue
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   lost: hash, epoch of a restore of the queue that has begun, and generation and last visit before it
--   tombstone: hash, epoch and generation of the queue if it was deleted
--   tally: hash, the waits, the stays and the peak since the generation began, and the totals before the queue was restored
-- ARGV: epoch
--   epoch: the epoch that the restore gives the queue
-- Output: {'dropped'}: the queue is dropped
--         {'later'}: nothing changed: the queue is of this epoch or a later one, a restore of a later epoch is under
--           way, or the queue was deleted
local waiting, ready, active, held, visits, present = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local seen, closing, view, config, state, lost = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local tombstone, tally = KEYS[13], KEYS[14]
local epoch = tonumber(ARGV[1])

local old_epoch, old_generation = unpack(redis.call('HMGET', config, 'epoch', 'generation'))
if tonumber(old_epoch or 0) >= epoch or tonumber(redis.call('HGET', lost, 'epoch') or 0) > epoch
  or tonumber(redis.call('HGET', tombstone, 'epoch') or 0) >= epoch then
  return { 'later' }
end
if old_generation then
  local line = read_line_fields(state)
  redis.call('HSET', lost, 'generation', old_generation, 'last_order', string.format('%.0f', line and line.last_order or 0))
end
redis.call('HSET', lost, 'epoch', ARGV[1])
redis.call('UNLINK', waiting, ready, active, held, visits, present, seen, closing, view, config, state, tally)
return { 'dropped' }
