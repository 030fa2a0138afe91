#!lua flags=allow-oom
-- Restores an entry that Redis lost and the backup has, or says why it does not. It is idempotent for two callers. For
-- an entry that is not in the line, the first call only returns a ticket. The caller then reads the record again, and
-- the second call with that ticket restores the entry. So a visit that began and ended after the first read is not
-- taken for one that was lost. See docs/adr/0006-failover-losses.md.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: clock scores claim_clock queue end put
-- KEYS: waiting ready active ended revival_tickets config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline (by the claim clock) and visit
--   active: sorted set, entry -> session end and visit
--   ended: hash, entry -> its end, until the backup has it
--   revival_tickets: hash, entry -> ticket of a restore of this entry that has begun
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms id generation epoch v record_state visit place session_end_ms ticket replaced_visit
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   generation, epoch, v: the generation and the version of the backup's record
--   record_state: the state in the record: 'waiting', 'ready' or 'active'
--   visit: the visit in the record
--   place: the place in the record; empty if the record has none
--   session_end_ms: the end of the session in the record, in Unix milliseconds; empty if the entry is not active
--   ticket: the ticket of an earlier call, after which the record was read; empty if there was none
--   replaced_visit: the new visit that this entry got after Redis lost the old one, and that the old one replaces;
--     empty if the entry is not in the line
-- Output: {'no-queue'}: Redis does not have the queue
--         {'refused'}: the record is of another generation, or of a later epoch than the queue; nothing changed
--         {'here', state, score or visit, position or deadline_ms, now_ms}: the entry is in the line already
--         {'ended'}: the visit ended, so nothing changed
--         {'ticket', ticket}: read the record again and call with this ticket
--         {'expired', epoch, v, visit, now_ms}: the session ended while Redis did not have the entry, so it expires
--         {'restored', epoch, v, state, score or visit, position or deadline_ms, now_ms}: the entry is restored
local waiting, ready, active, ended, revival_tickets = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local config, state = KEYS[6], KEYS[7]
local given_us, witness_ms, id, generation = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local epoch, v = tonumber(ARGV[5]), tonumber(ARGV[6])
local record_state, visit, place, session_end_ms = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local ticket, replaced_visit = ARGV[11], tonumber(ARGV[12])

local TICKETS_TTL_SECONDS = 600

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
if tonumber(redis.call('HGET', config, 'generation')) ~= generation or queue.epoch < epoch then
  return { 'refused' }
end
local entry = find_entry(queue, waiting, ready, active, ended, id)
if entry.visit and (entry.visit ~= replaced_visit or entry.visit == visit) then
  return { 'here', unpack(build_status(queue, waiting, id, entry)) }
end

-- The visit ended if it timed out and `promote` did not remove it yet, or if `ended` holds a later end of it than the
-- record's version. An earlier end, or one of another visit, belongs to a visit before this one.
local has_timed_out = not entry.visit and (redis.call('ZSCORE', ready, id) or redis.call('ZSCORE', active, id))
local ended_epoch, ended_v, ended_visit = string.match(redis.call('HGET', ended, id) or '', '^(%d+) (%d+) (%d+)')
ended_epoch, ended_v, ended_visit = tonumber(ended_epoch), tonumber(ended_v), tonumber(ended_visit)
local has_ended = ended_v and ended_visit == visit and (ended_epoch > epoch or (ended_epoch == epoch and ended_v >= v))
if has_timed_out or has_ended or (replaced_visit and not entry.visit) then
  return { 'ended' }
end

if not replaced_visit then
  local stored_ticket = redis.call('HGET', revival_tickets, id)
  if not stored_ticket then
    stored_ticket = string.format('%.0f', take_version(queue, state))
    redis.call('HSET', revival_tickets, id, stored_ticket)
    redis.call('EXPIRE', revival_tickets, TICKETS_TTL_SECONDS)
  end
  if stored_ticket ~= ticket then
    return { 'ticket', stored_ticket }
  end
  -- An end of this epoch that is later than the ticket belongs to a visit that began and ended since, and the record
  -- may be older than that visit. An end of an earlier epoch is not.
  if ended_v and ended_epoch == queue.epoch and ended_v > tonumber(stored_ticket) then
    return { 'ended' }
  end
  redis.call('HDEL', revival_tickets, id)
end

-- Versions and orders go on from the highest ones in the record: every lost change has a lower version, and the next
-- visitor gets a place behind this one.
queue.v = math.max(queue.v, v)
if record_state == 'active' and session_end_ms <= queue.now_ms then
  v = take_version(queue, state)
  redis.call('HSET', ended, id, format_end(queue.epoch, v, visit, 'expired', queue.now_ms))
  redis.call('HINCRBY', state, 'expired', 1)
  return { 'expired', queue.epoch, v, visit, queue.now_ms }
end
v = take_version(queue, state)
if place then
  local last_order = tonumber(redis.call('HGET', state, 'last_order'))
  redis.call('HSET', state, 'last_order', math.max(last_order, place % ORDER_RANGE))
end
if entry.visit then
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', ready, id)
  redis.call('ZREM', active, id)
else
  -- Redis lost the count of this entry together with its place.
  redis.call('HINCRBY', state, 'entered', 1)
end
entry = { state = record_state, visit = visit, score = place, deadline_ms = session_end_ms }
put_entry(queue, { waiting = waiting, ready = ready, active = active }, config, state, id, entry)
return { 'restored', queue.epoch, v, unpack(build_status(queue, waiting, id, entry)) }
