#!lua flags=allow-oom
-- Appends a change that the backup did not take to the journal, unless the journal is full.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- KEYS: config journal
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   journal: stream, changes that the backup does not have yet
-- ARGV: journal_max ...
--   journal_max: the journal is full when it has this many records
--   ...: the change, as field value field value …; journal.rs writes and reads it
-- Output: {'no-queue'}: Redis does not have the queue
--         {'recorded', key}: the change is in the journal; the stream id of its record
--         {'full'}: the journal is full, so the change is not stored
local config, journal = KEYS[1], KEYS[2]
local journal_max = tonumber(ARGV[1])

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
if redis.call('XLEN', journal) >= journal_max then
  return { 'full' }
end
return { 'recorded', redis.call('XADD', journal, '*', unpack(ARGV, 2)) }
