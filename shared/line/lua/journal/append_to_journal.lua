#!lua flags=allow-oom
-- Adds a change that the backup did not take to the journal, unless the journal is full. A change that replaces a record
-- of the same entry and kind, or says no more than it, is also taken by a full journal.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: places scores facts words journal
-- KEYS: config journal journaled deferred
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   journal: stream, changes that the backup does not have yet
--   journaled: hash, `entry kind` -> the stream id of a change in the journal, or the change itself if it is deferred
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
-- ARGV: journal_max ...
--   journal_max: the journal is full when it has this many records
--   ...: the change, as field value field value …; journal_encoding.rs writes and reads it
-- Output: {'no-queue'}: Redis does not have the queue
--         {'recorded'}: the journal has the change, or a greater fact
--         {'full'}: the journal is full, so the change is not stored
local config, journal, journaled, deferred = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local journal_max = tonumber(ARGV[1])

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local keys = { journal = journal, journaled = journaled, deferred = deferred }
if add_to_journal(keys, { unpack(ARGV, 2) }, journal_max, nil) then
  return { 'recorded' }
end
return { 'full' }
