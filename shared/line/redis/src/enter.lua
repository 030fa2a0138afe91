#!lua
-- Gives a visitor a place: the one that the visitor has, a session at once (the fast track), or the back of the line.
-- Crowds call this script, so `state` repeats what it needs of the configuration: it reads one hash instead of two.
-- include: clock claim_clock scores pace end
-- KEYS: waiting ready active ended config state journal
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline (by the claim clock) and visit
--   active: sorted set, entry -> session end and visit
--   ended: hash, entry -> its end, until the backup has it
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   journal: stream, changes that the backup does not have yet
-- ARGV: given_us witness_ms id journal_max
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   journal_max: the script refuses new places when the journal has this many records
-- Output: {'no-queue'}: Redis does not have the queue
--         {'refused', 'draining' | 'closed' | 'journal-full'}: the visitor got no place; the word is the reason
--         {'joined', 'new' | 'kept' | 'moved', epoch, v, state, score or visit, position or deadline_ms, now_ms,
--          place}:
--           the entry has a new place, keeps the one it had, or moved to the back; v is 0 if nothing changed; only the
--           reply for an entry that is new and active ends with `place`
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local journal = KEYS[7]
local given_us, witness_ms, id, journal_max = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local epoch, entrance, re_entry, paused, v, last_order, entered, paused_at_ms, paused_ms, offset_ms, heartbeat_ms =
  unpack(redis.call('HMGET', state, 'epoch', 'entrance', 're_entry', 'paused', 'v', 'last_order', 'entered',
    'paused_at_ms', 'paused_ms', 'offset_ms', 'heartbeat_ms'))
if not epoch then
  return { 'no-queue' }
end
epoch, v = tonumber(epoch), tonumber(v)
local us, clocks_apart, ahead_ms = read_line_time(given_us, witness_ms, offset_ms, v, heartbeat_ms)
if clocks_apart then
  -- Stores the offset that this caller measured. The promoter may adjust the clock if its own measurement agrees.
  redis.call('HSET', state, 'testified_ms', (offset_ms or 0) - ahead_ms)
end
local now_ms = math.floor(us / 1000)
v = next_version(us, v)

-- A ready or active entry stays as it is until its deadline. If the deadline has passed, the new visit ends the old
-- one.
local ready_score = redis.call('ZSCORE', ready, id)
if ready_score then
  local claim_clock_ms = compute_claim_clock_ms(now_ms, paused, tonumber(paused_at_ms), tonumber(paused_ms))
  local deadline_ms = decode_deadline_ms(tonumber(ready_score))
  if deadline_ms > claim_clock_ms then
    return { 'joined', 'kept', epoch, 0, 'ready', ready_score % VISITS, deadline_ms + now_ms - claim_clock_ms, now_ms }
  end
end
local active_score = redis.call('ZSCORE', active, id)
if active_score and decode_deadline_ms(tonumber(active_score)) > now_ms then
  redis.call('HSET', state, 'v', v)
  local session_end_ms = decode_deadline_ms(tonumber(active_score))
  return { 'joined', 'kept', epoch, v, 'active', active_score % VISITS, session_end_ms, now_ms }
end

-- The place at the back of the line.
local order = math.max(tonumber(last_order) + 1, (now_ms - ERA_MS) * ARRIVALS_PER_MS)
local place = PHASE_OPEN + order
local in_line = redis.call('ZCARD', waiting)
local session_end_ms

-- The fast track: no entry waits, the queue is open and not paused, the clocks agree, a slot is free, and the pace
-- bucket holds a token.
if in_line == 0 and paused ~= '1' and entrance == 'open' and not clocks_apart then
  local capacity, batch, interval_ms, session_ms =
    unpack(redis.call('HMGET', config, 'capacity', 'batch', 'interval_ms', 'session_ms'))
  local credit, credit_at_ms = unpack(redis.call('HMGET', state, 'credit', 'credit_at_ms'))
  interval_ms, credit_at_ms = tonumber(interval_ms), tonumber(credit_at_ms)
  local taken = redis.call('ZCARD', ready) + redis.call('ZCARD', active)
  -- The slot of this entry's old visit is free: that visit timed out, although `promote` did not remove it yet.
  taken = taken - (ready_score and 1 or 0) - (active_score and 1 or 0)
  credit = refill_credit(tonumber(credit), credit_at_ms, now_ms, tonumber(batch), interval_ms)
  if taken < tonumber(capacity) and credit >= interval_ms then
    if redis.call('XLEN', journal) >= journal_max then
      return { 'refused', 'journal-full' }
    end
    session_end_ms = now_ms + tonumber(session_ms)
    redis.call('HSET', state, 'credit', credit - interval_ms, 'credit_at_ms', math.max(now_ms, credit_at_ms))
    redis.call('HINCRBY', state, 'fast_tracked', 1)
  end
end

-- The back of the line, for an entry that does not wait yet. Only such an entry pays for reading the journal's length.
local was_appended = not session_end_ms and entrance == 'open' and redis.call('ZADD', waiting, 'NX', place, id) == 1
if was_appended and redis.call('XLEN', journal) >= journal_max then
  redis.call('ZREM', waiting, id)
  return { 'refused', 'journal-full' }
end
if not was_appended and not session_end_ms then
  local old_place = tonumber(redis.call('ZSCORE', waiting, id) or 0)
  if old_place == 0 then
    return { 'refused', entrance }
  end
  if re_entry == 'requeue' and entrance == 'open' then
    redis.call('ZADD', waiting, place, id)
    redis.call('HSET', state, 'v', v, 'last_order', order)
    return { 'joined', 'moved', epoch, v, 'waiting', place, in_line, now_ms }
  end
  redis.call('HSET', state, 'v', v)
  return { 'joined', 'kept', epoch, v, 'waiting', old_place, redis.call('ZRANK', waiting, id) + 1, now_ms }
end
if ready_score then
  redis.call('ZREM', ready, id)
  redis.call('HINCRBY', state, 'no_shows', 1)
end
if active_score then
  redis.call('ZREM', active, id)
  redis.call('HINCRBY', state, 'expired', 1)
end
if ready_score or active_score then
  -- The backup still shows the old visit, so the caller must write this end before it writes the new place.
  local how = ready_score and 'no-show' or 'expired'
  redis.call('HSET', ended, id, format_end(epoch, v, (ready_score or active_score) % VISITS, how, now_ms))
  v = v + 1
end
redis.call('HSET', state, 'v', v, 'last_order', order, 'entered', entered + 1)
if session_end_ms then
  local visit = derive_visit(place)
  redis.call('ZADD', active, encode_deadline(session_end_ms, visit), id)
  return { 'joined', 'new', epoch, v, 'active', visit, session_end_ms, now_ms, place }
end
return { 'joined', 'new', epoch, v, 'waiting', place, in_line + 1, now_ms }
