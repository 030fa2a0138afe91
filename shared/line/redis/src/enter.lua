#!lua
-- Gives a visitor a place: the one they have, the fast track, or the back of the line.
-- It is the call that a crowd makes, so what it needs of the configuration stands in `state` as well: one read less.
-- include: clock claim_clock scores pace end
-- KEYS: waiting ready active ended config state journal
-- ARGV: given_us witness_ms id journal_max
-- Output: {'no-queue'}
--         {'refused', entrance | 'journal-full'}
--         {'joined', 'new' | 'kept' | 'moved', epoch, v or 0 where nothing changed,
--          state, score or visit, position or deadline_ms, now_ms, for one on the fast track its score}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local journal = KEYS[7]
local given_us, witness_ms, id, journal_max = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local s = redis.call('HMGET', state, 'epoch', 'entrance', 're_entry', 'paused', 'v', 'last_order', 'entered',
  'paused_at_ms', 'paused_ms', 'offset_ms', 'heartbeat_ms')
local epoch, entrance, re_entry, paused, v = tonumber(s[1]), s[2], s[3], s[4], tonumber(s[5])
if not epoch then
  return { 'no-queue' }
end
local us, apart, ahead_ms = line_time(given_us, witness_ms, s[10], v, s[11])
if apart then
  -- For the promoter: what this caller would have added to the server's clock.
  redis.call('HSET', state, 'testified_ms', (s[10] or 0) - ahead_ms)
end
local now_ms = math.floor(us / 1000)
v = next_version(us, v)

-- Whoever was promoted or let in stays so, until the deadline; one that has come ends with the new visit.
local ready_score = redis.call('ZSCORE', ready, id)
if ready_score then
  local clock_ms = claim_clock_ms(now_ms, paused, tonumber(s[8]), tonumber(s[9]))
  local deadline_ms = deadline_of(tonumber(ready_score))
  if deadline_ms > clock_ms then
    return { 'joined', 'kept', epoch, 0, 'ready', ready_score % 4096, deadline_ms + now_ms - clock_ms, now_ms }
  end
end
local active_score = redis.call('ZSCORE', active, id)
if active_score and deadline_of(tonumber(active_score)) > now_ms then
  redis.call('HSET', state, 'v', v)
  return { 'joined', 'kept', epoch, v, 'active', active_score % 4096, deadline_of(tonumber(active_score)), now_ms }
end

-- The place at the back: 2^49 is the phase after opening, 256 arrivals of one millisecond have an order of their own.
local order = math.max(tonumber(s[6]) + 1, (now_ms - ERA_MS) * 256)
local score = 562949953421312 + order
local in_line = redis.call('ZCARD', waiting)
local session_end_ms

-- The fast track: nobody waits, nothing is shut, the time is certain, room is free and the pace allows one more.
if in_line == 0 and paused ~= '1' and entrance == 'open' and not apart then
  local c = redis.call('HMGET', config, 'capacity', 'batch', 'interval_ms', 'session_ms')
  local b = redis.call('HMGET', state, 'credit', 'credit_at_ms')
  local taken = redis.call('ZCARD', ready) + redis.call('ZCARD', active)
  -- Its own place, where it timed out and nobody dropped it yet, is free.
  taken = taken - (ready_score and 1 or 0) - (active_score and 1 or 0)
  local interval_ms, credit_at_ms = tonumber(c[3]), tonumber(b[2])
  local credit = refilled(tonumber(b[1]), credit_at_ms, now_ms, tonumber(c[2]), interval_ms)
  if taken < tonumber(c[1]) and credit >= interval_ms then
    if redis.call('XLEN', journal) >= journal_max then
      return { 'refused', 'journal-full' }
    end
    session_end_ms = now_ms + tonumber(c[4])
    redis.call('HSET', state, 'credit', credit - interval_ms, 'credit_at_ms', math.max(now_ms, credit_at_ms))
    redis.call('HINCRBY', state, 'fast_tracked', 1)
  end
end

-- The back of the line, for whoever is not in it already. They alone pay for the look at the journal.
local queues = not session_end_ms and entrance == 'open' and redis.call('ZADD', waiting, 'NX', score, id) == 1
if queues and redis.call('XLEN', journal) >= journal_max then
  redis.call('ZREM', waiting, id)
  return { 'refused', 'journal-full' }
end
if not queues and not session_end_ms then
  local old_score = tonumber(redis.call('ZSCORE', waiting, id) or 0)
  if old_score == 0 then
    return { 'refused', entrance }
  end
  if re_entry == 'requeue' and entrance == 'open' then
    redis.call('ZADD', waiting, score, id)
    redis.call('HSET', state, 'v', v, 'last_order', order)
    return { 'joined', 'moved', epoch, v, 'waiting', score, in_line, now_ms }
  end
  redis.call('HSET', state, 'v', v)
  return { 'joined', 'kept', epoch, v, 'waiting', old_score, redis.call('ZRANK', waiting, id) + 1, now_ms }
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
  -- The backup still shows it: whoever writes the new place writes this end first.
  local how = ready_score and 'no-show' or 'expired'
  redis.call('HSET', ended, id, end_text(epoch, v, (ready_score or active_score) % 4096, how, now_ms))
  v = v + 1
end
redis.call('HSET', state, 'v', v, 'last_order', order, 'entered', s[7] + 1)
if session_end_ms then
  local visit = visit_of(score)
  redis.call('ZADD', active, deadline_score(session_end_ms, visit), id)
  return { 'joined', 'new', epoch, v, 'active', visit, session_end_ms, now_ms, score }
end
return { 'joined', 'new', epoch, v, 'waiting', score, in_line + 1, now_ms }
