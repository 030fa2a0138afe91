#!lua flags=allow-oom
-- Acknowledges what the backup has: deletes journal records and dead letters, and notes which ends in `ended` are
-- settled. If an entry came again and ended again since, its later end stays unsettled. A settled end is deleted some
-- seconds later. A queue that was dropped for a restore is acknowledged, too.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: hashes line line_table clock end facts settled places scores words journal
-- KEYS: ended settled journal journaled deferred dead_letters config state lost
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   settled: sorted set, entry -> line time since which the backup has the end in `ended`, in Unix milliseconds
--   journal: stream, changes that the backup does not have yet
--   journaled: hash, `entry kind` -> the stream id of a change in the journal, or the change itself if it is deferred
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
--   dead_letters: stream, dead letters, the records that could not be written to the backup
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   lost: hash, epoch of a restore of the queue that has begun, and generation and last visit before it
-- ARGV: given_us witness_ms settled_kept_ms record_count ...
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   settled_kept_ms: how long an end stays after the backup has it, in milliseconds
--   record_count: how many of the following arguments are stream ids of records
--   ...: the stream ids, with `dead-letter:` before that of a dead letter, or `deferred:entry kind`; then five arguments for
--     each end: the entry, visit, step, step_ms, and 1 if the time of the step ran out, else 0
-- Output: {'no-queue'}: Redis does not have the queue, and no restore of it is under way
--         {'acknowledged'}: the records are deleted, and the ends are settled
local ended, settled, journal, journaled, deferred = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local dead_letters, config, state, lost = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local given_us, witness_ms, settled_kept_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local record_count = tonumber(ARGV[4])

local FIRST_RECORD = 5 -- the index in ARGV at which the stream ids begin
local VALUES_PER_END = 5

if redis.call('EXISTS', config, lost) == 0 then
  return { 'no-queue' }
end
local keys = { journal = journal, journaled = journaled, deferred = deferred }
local first_end = FIRST_RECORD + record_count
for i = FIRST_RECORD, first_end - 1 do
  local place, key = string.match(ARGV[i], '^(%a[%a%-]*):(.+)$')
  if place == 'dead-letter' then
    redis.call('XDEL', dead_letters, key)
  elseif place == 'deferred' then
    remove_deferred_record(keys, key)
  else
    remove_journal_record(keys, ARGV[i])
  end
end

-- A queue that was dropped has no state any more.
local line = read_line_fields(state) or { v = 0, offset_ms = 0, heartbeat_ms = 0 }
local us, clocks_apart = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)
for i = first_end, #ARGV, VALUES_PER_END do
  local id, over = ARGV[i], ARGV[i + 4]
  local backup_end = { visit = tonumber(ARGV[i + 1]), step = tonumber(ARGV[i + 2]), step_ms = tonumber(ARGV[i + 3]),
    is_over = over == '1' }
  local end_text = redis.call('HGET', ended, id)
  if end_text and not is_earlier_fact(backup_end, parse_end(end_text)) then
    redis.call('ZADD', settled, 'NX', string.format('%.0f', now_ms), id)
  end
end
if not clocks_apart then
  delete_settled_ends(ended, settled, now_ms, settled_kept_ms)
end
return { 'acknowledged' }
