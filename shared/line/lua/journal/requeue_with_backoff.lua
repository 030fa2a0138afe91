#!lua flags=allow-oom
-- Replaces a journal record that the backup did not take completely. Its untried changes become one record that is due
-- at once. Each refused change becomes a record of its own that is deferred: it is due again later (backoff). Only the
-- first caller changes anything.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: hashes line line_table clock places scores facts words journal
-- KEYS: journal journaled deferred config
--   journal: stream, changes that the backup does not have yet
--   journaled: hash, `entry kind` -> the stream id of a change in the journal, or the change itself if it is deferred
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
--   config: hash, the queue's configuration; without it Redis does not have the queue
-- ARGV: given_us witness_ms record_key tries wait_ms untried_values ...
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds; not used
--   record_key: the stream id of the record
--   tries: how often the backup refused the refused changes by now
--   wait_ms: the refused changes are due again in this many milliseconds
--   untried_values: how many of the following arguments are fields and values of the untried changes; 0 for none
--   ...: field value field value … of the untried changes, then 10 fields with values for each refused change
-- Output: {'no-queue'}: Redis does not have the queue
--         {'requeued'}: the record is replaced
--         {'gone'}: the journal has no such record, so nothing changed
local journal, journaled, deferred, config = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local given_us, witness_ms, record_key, tries = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local wait_ms, untried_values = tonumber(ARGV[5]), tonumber(ARGV[6])

local FIRST_VALUE = 7 -- the index in ARGV at which fields and values begin
local VALUES_PER_CHANGE = 20 -- journal_encoding.rs writes a change as 10 fields, each with its value

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local keys = { journal = journal, journaled = journaled, deferred = deferred }
if not remove_journal_record(keys, record_key) then
  return { 'gone' }
end
local first_refused = FIRST_VALUE + untried_values
if untried_values == VALUES_PER_CHANGE and ARGV[FIRST_VALUE + 1] ~= 'tick' then
  add_to_journal(keys, { unpack(ARGV, FIRST_VALUE, first_refused - 1) }, nil, nil)
elseif untried_values > 0 then
  redis.call('XADD', journal, '*', unpack(ARGV, FIRST_VALUE, first_refused - 1))
end
-- The time to try again is by the server's clock alone, since line time may be far ahead of it for a while.
local retry_at_ms = math.floor(read_server_time_us(given_us) / 1000) + wait_ms
for first = first_refused, #ARGV, VALUES_PER_CHANGE do
  local values = { unpack(ARGV, first, first + VALUES_PER_CHANGE - 1) }
  add_to_journal(keys, values, nil, { tries = tries, at_ms = retry_at_ms })
end
return { 'requeued' }
