#!lua
-- Restores a queue from the sets that the caller staged. It writes `config` last: until then every script answers that
-- Redis does not have the queue.
-- The restore of the highest epoch wins, however late the others are: this script replaces a queue of a lower epoch,
-- and changes nothing if the queue is of this epoch or a later one, or if a restore of a later epoch is under way.
-- `journal`, `dead_letters` and `ended` stay, unless they are of another generation.
-- include: new_state fields
-- KEYS: waiting ready active ended revival_tickets journal dead_letters load config state lost staged_waiting staged_ready staged_active
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline (by the claim clock) and visit
--   active: sorted set, entry -> session end and visit
--   ended: hash, entry -> its end, until the backup has it
--   revival_tickets: hash, entry -> ticket of a restore of this entry that has begun
--   journal: stream, changes that the backup does not have yet
--   dead_letters: stream, dead letters, the records that could not be written to the backup
--   load: hash, the protected service's last load report
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   lost: hash, epoch and generation of a restore of the queue that has begun
--   staged_waiting, staged_ready, staged_active: the sorted sets that the caller prepared, as waiting, ready and active
-- ARGV: now_us last_order v fence entries ...
--   now_us: line time, in Unix microseconds
--   last_order: the highest order of the restored places; the next place is behind it
--   v: the highest version in the backup
--   fence: the watermark that the queue begins with
--   entries: how many entries the caller staged
--   ...: the whole configuration, as field value field value …
-- Output: {'created'}: the queue is restored
--         {'same'}: Redis already has the queue with this epoch
--         {'older'}: Redis has the queue with a later epoch, or a restore of a later epoch is under way
--         {'incomplete'}: a staged set expired because the server's clock jumped forward; nothing changed
local waiting, ready, active, ended, revival_tickets = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local journal, dead_letters, load, config, state, lost = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local staged_waiting, staged_ready, staged_active = KEYS[12], KEYS[13], KEYS[14]
local now_us, last_order, v, fence = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local entries = tonumber(ARGV[5])

local new, new_fields = read_configuration(6)
local new_epoch = tonumber(new.epoch)
local queue_epoch, queue_generation = unpack(redis.call('HMGET', config, 'epoch', 'generation'))
local restore_epoch, lost_generation = unpack(redis.call('HMGET', lost, 'epoch', 'generation'))
queue_epoch = tonumber(queue_epoch or 0)
if queue_epoch >= new_epoch or tonumber(restore_epoch or 0) > new_epoch then
  redis.call('UNLINK', staged_waiting, staged_ready, staged_active)
  return { queue_epoch == new_epoch and 'same' or 'older' }
end
local moves = {
  { from = staged_waiting, to = waiting },
  { from = staged_ready, to = ready },
  { from = staged_active, to = active },
}
local staged_entries = 0
for _, move in ipairs(moves) do
  staged_entries = staged_entries + redis.call('ZCARD', move.from)
end
if staged_entries ~= entries then
  return { 'incomplete' }
end
local old_generation = lost_generation or queue_generation
if old_generation and old_generation ~= new.generation then
  redis.call('UNLINK', journal, dead_letters, ended)
end
redis.call('UNLINK', waiting, ready, active, revival_tickets, load, config, lost)
for _, move in ipairs(moves) do
  if redis.call('EXISTS', move.from) == 1 then
    redis.call('RENAME', move.from, move.to)
    redis.call('PERSIST', move.to)
  end
end
write_new_state(state, math.max(now_us, v), math.floor(now_us / 1000), 0, last_order, new)
redis.call('HSET', state, 'fence', fence)
redis.call('HSET', config, unpack(new_fields))
return { 'created' }
