#!lua
-- Restores a queue from the sets that the caller staged. It writes `config` last: until then every script answers that
-- Redis does not have the queue.
-- The restore of the highest epoch wins, however late the others are: this script replaces a queue of a lower epoch,
-- and changes nothing if the queue is of this epoch or a later one, or if a restore of a later epoch is under way.
-- `journal`, `journaled`, `deferred`, `dead_letters`, `ended` and `settled` stay, unless they are of another
-- generation.
-- include: hashes line line_table entrance places scores lanes new_state fields imbalance
-- KEYS: waiting ready active held visits ended settled present seen closing journal journaled deferred dead_letters view config state lost tombstone tally staged_waiting staged_ready staged_active staged_held staged_visits
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
--   tombstone: hash, epoch and generation of the queue before it was deleted; a queue of a later epoch removes it
--   tally: hash, the waits, the stays and the peak since the generation began, and the totals before the queue was restored
--   staged_waiting, staged_ready, staged_active, staged_held: the sorted sets that the caller prepared, as waiting,
--     ready, active and held
--   staged_visits: the hash that the caller prepared, as visits
-- ARGV: now_us last_order fence staged_count tally_json ...
--   now_us: line time, in Unix microseconds; the queue's version begins with it
--   last_order: the highest visit in the backup; the next place is behind it, and behind all that the queue gave before
--   fence: the watermark that the queue begins with
--   staged_count: how many members and fields the caller staged in all
--   tally_json: the fields and values of the hash `tally` with which the queue begins, as a list in JSON
--   ...: the whole configuration, as field value field value …
-- Output: {'created'}: the queue is restored
--         {'same'}: Redis already has the queue with this epoch
--         {'older'}: Redis has the queue with a later epoch, a restore of a later epoch is under way, or the queue was
--           deleted
--         {'incomplete'}: a staged key expired because the server's clock jumped forward; nothing changed
local waiting, ready, active, held, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local settled, present, seen, closing, journal = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local journaled, deferred, dead_letters, view, config = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16]
local state, lost, tombstone, tally, staged_waiting = KEYS[17], KEYS[18], KEYS[19], KEYS[20], KEYS[21]
local staged_ready, staged_active, staged_held, staged_visits = KEYS[22], KEYS[23], KEYS[24], KEYS[25]
local now_us, last_order, fence, staged_count = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local tally_json = ARGV[5]

local new, new_fields = read_configuration(6)
local new_epoch = tonumber(new.epoch)
local queue_epoch, queue_generation = unpack(redis.call('HMGET', config, 'epoch', 'generation'))
local restore_epoch, lost_generation, lost_order =
  unpack(redis.call('HMGET', lost, 'epoch', 'generation', 'last_order'))
queue_epoch = tonumber(queue_epoch or 0)
if queue_epoch >= new_epoch or tonumber(restore_epoch or 0) > new_epoch
  or tonumber(redis.call('HGET', tombstone, 'epoch') or 0) >= new_epoch then
  redis.call('UNLINK', staged_waiting, staged_ready, staged_active, staged_held, staged_visits)
  return { queue_epoch == new_epoch and 'same' or 'older' }
end
local moves = {
  { from = staged_waiting, to = waiting },
  { from = staged_ready, to = ready },
  { from = staged_active, to = active },
  { from = staged_held, to = held },
  { from = staged_visits, to = visits },
}
local found_count = redis.call('ZCARD', staged_waiting) + redis.call('ZCARD', staged_ready)
  + redis.call('ZCARD', staged_active) + redis.call('ZCARD', staged_held) + redis.call('HLEN', staged_visits)
if found_count ~= staged_count then
  return { 'incomplete' }
end
local old_generation = lost_generation or queue_generation
if old_generation == new.generation then
  -- Also beyond what the backup has, and by a clock that was set back: `ended` may have the end of such a visit.
  local old_line = read_line_fields(state)
  last_order = math.max(last_order, tonumber(lost_order) or old_line and old_line.last_order or 0)
elseif old_generation then
  redis.call('UNLINK', journal, journaled, deferred, dead_letters, ended, settled)
end
redis.call('UNLINK', waiting, ready, active, held, visits, present, seen, closing, view, config, lost, tombstone, tally)
for _, move in ipairs(moves) do
  if redis.call('EXISTS', move.from) == 1 then
    redis.call('RENAME', move.from, move.to)
    redis.call('PERSIST', move.to)
  end
end
local line = write_new_state(state, now_us, math.floor(now_us / 1000), 0, last_order, 0, new)
local waiting_count = redis.call('ZCARD', waiting)
if waiting_count > 0 then
  local first, last = find_outer_lanes(waiting)
  line.has_lanes = first ~= LANE_DEFAULT or last ~= LANE_DEFAULT
  write_line_fields(state, line)
end
-- No total counts the restored entries.
local entries = waiting_count + redis.call('ZCARD', ready) + redis.call('ZCARD', active)
redis.call('HSET', state, 'fence', fence, 'checked_imbalance', compute_imbalance(entries, state, line))
-- The caller sends some hundred fields at most.
local tally_fields = cjson.decode(tally_json)
if #tally_fields > 0 then
  redis.call('HSET', tally, unpack(tally_fields))
end
redis.call('HSET', config, unpack(new_fields))
return { 'created' }
