#!lua flags=allow-oom
-- Moves a journal record to the dead letters without reading it: it may be one that no code understands.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: places scores facts words journal
-- KEYS: journal journaled deferred dead_letters config
--   journal: stream, changes that the backup does not have yet
--   journaled: hash, `entry kind` -> the stream id of a change in the journal, or the change itself if it is deferred
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
--   dead_letters: stream, dead letters, the records that could not be written to the backup
--   config: hash, the queue's configuration; without it Redis does not have the queue
-- ARGV: record_key dead_letters_max
--   record_key: the stream id of the record
--   dead_letters_max: how many dead letters are kept at most
-- Output: {'no-queue'}: Redis does not have the queue
--         {'dead-lettered'}: the record is a dead letter now
--         {'gone'}: the journal has no such record
--         {'full'}: there are too many dead letters, or the record is too large to move; it stays in the journal
local journal, journaled, deferred, dead_letters, config = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local record_key, dead_letters_max = ARGV[1], tonumber(ARGV[2])

local RECORD_VALUES_MAX = 1000 -- `unpack` is bounded; Vestibule's own records have less than 100 fields

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local record = redis.call('XRANGE', journal, record_key, record_key)[1]
if not record then
  return { 'gone' }
end
local _, values = unpack(record) -- a stream id, and a list of field, value, field, value
if redis.call('XLEN', dead_letters) >= dead_letters_max or #values > RECORD_VALUES_MAX then
  return { 'full' }
end
redis.call('XADD', dead_letters, '*', unpack(values))
remove_journal_record({ journal = journal, journaled = journaled, deferred = deferred }, record_key)
return { 'dead-lettered' }
