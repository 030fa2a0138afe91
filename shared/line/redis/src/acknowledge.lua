#!lua flags=allow-oom
-- Acknowledges what the backup has: deletes journal records and dead letters, and ends in `ended`. If an entry came
-- again and ended again since, its later end stays. The ticket of a restore is deleted together with the end, because
-- the record that the restore read may be older than that end. A queue that was dropped for a restore is acknowledged,
-- too.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- KEYS: ended revival_tickets journal dead_letters config lost
--   ended: hash, entry -> its end, until the backup has it
--   revival_tickets: hash, entry -> ticket of a restore of this entry that has begun
--   journal: stream, changes that the backup does not have yet
--   dead_letters: stream, dead letters, the records that could not be written to the backup
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   lost: hash, epoch and generation of a restore of the queue that has begun
-- ARGV: record_count ...
--   record_count: how many of the following arguments are stream ids of records
--   ...: the stream ids, with `dead-letter:` before that of a dead letter; then entry epoch v entry epoch v … of each end
-- Output: {'no-queue'}: Redis does not have the queue, and no restore of it is under way
--         {'acknowledged'}: everything that the backup has is deleted
local ended, revival_tickets, journal, dead_letters = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local config, lost = KEYS[5], KEYS[6]
local record_count = tonumber(ARGV[1])

if redis.call('EXISTS', config, lost) == 0 then
  return { 'no-queue' }
end
for i = 2, record_count + 1 do
  local dead_letter_key = string.match(ARGV[i], '^dead%-letter:(.+)$')
  redis.call('XDEL', dead_letter_key and dead_letters or journal, dead_letter_key or ARGV[i])
end
local has_tickets = redis.call('EXISTS', revival_tickets) == 1
for i = record_count + 2, #ARGV, 3 do
  local id, backup_epoch, backup_v = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local epoch, v = string.match(redis.call('HGET', ended, id) or '', '^(%d+) (%d+)')
  epoch, v = tonumber(epoch), tonumber(v)
  -- The epoch counts first: a restored queue may have begun at a lower `v` than the one before it had reached.
  if epoch and (backup_epoch > epoch or (backup_epoch == epoch and backup_v >= v)) then
    redis.call('HDEL', ended, id)
    if has_tickets then
      redis.call('HDEL', revival_tickets, id)
    end
  end
end
return { 'acknowledged' }
