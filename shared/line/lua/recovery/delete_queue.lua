#!lua flags=allow-oom
-- Removes every key of a deleted queue but the tombstone, which expires. So no earlier epoch of the queue can be
-- created or restored.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- KEYS: waiting ready active held visits ended settled present seen closing journal journaled deferred dead_letters view config state lost tombstone tally
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   held: sorted set, entry whose slot is held -> when the slot becomes free, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   settled: sorted set, entry -> line time since which the backup has the end in `ended`, in Unix milliseconds
--   present: sorted set, called entry that checked in lately -> place
--   seen: sorted set, called entry -> last check-in by the presence clock, negative if it is not present
--   closing: sorted set, entry -> line time at which its visitor closed the page, in Unix milliseconds
--   journal: stream, changes that the backup does not have yet
--   journaled: hash, `entry kind` -> the stream id of a change in the journal, or the change itself if it is deferred
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
--   dead_letters: stream, dead letters, the records that could not be written to the backup
--   view: string, a stored snapshot of the queue
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   lost: hash, epoch of a restore of the queue that has begun, and generation and last visit before it
--   tombstone: hash, epoch and generation of the deleted queue
--   tally: hash, the waits, the stays and the peak since the generation began, and the totals before the queue was restored
-- ARGV: epoch generation deleted_at_ms kept_seconds
--   epoch: an epoch above all epochs of the queue
--   generation: the queue's last generation
--   deleted_at_ms: when the queue was deleted, in Unix milliseconds
--   kept_seconds: how long to keep the tombstone
-- Output: {'deleted'}: Redis has nothing of the queue but the tombstone
--         {'later'}: nothing changed: the queue is of this epoch or a later one, or was deleted again later
local waiting, ready, active, held, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local settled, present, seen, closing, journal = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local journaled, deferred, dead_letters, view, config = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16]
local state, lost, tombstone, tally = KEYS[17], KEYS[18], KEYS[19], KEYS[20]
local epoch, generation, deleted_at_ms, kept_seconds = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]

local function read_epoch(key)
  return tonumber(redis.call('HGET', key, 'epoch') or 0)
end

local tombstone_epoch = read_epoch(tombstone)
if read_epoch(config) >= epoch or read_epoch(lost) >= epoch or tombstone_epoch > epoch then
  return { 'later' }
end
redis.call('UNLINK', waiting, ready, active, held, visits, ended, settled, present, seen, closing, journal, journaled,
  deferred, dead_letters, view, config, state, lost, tally)
if tombstone_epoch < epoch then
  redis.call('HSET', tombstone, 'epoch', epoch, 'generation', generation, 'deleted_at_ms', deleted_at_ms)
  redis.call('EXPIRE', tombstone, kept_seconds)
end
return { 'deleted' }
