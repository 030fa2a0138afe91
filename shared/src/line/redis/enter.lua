#!lua
-- Gives a visitor a place: the one they have, the fast track, or the back of the line.
-- include: clock scores claim_clock pace
-- KEYS: waiting ready active ended config state
-- ARGV: given_us id
-- Output: {'no-queue'}
--         {'refused', entrance}
--         {'joined', 'new' | 'kept' | 'moved', epoch, v or 0 where nothing changed, now_ms,
--          state, score or visit, position or deadline_ms, now_ms, score of an entry on the fast track or 0}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, id = ARGV[1], ARGV[2]

local c = redis.call('HMGET', config, 'epoch', 'entrance', 're_entry', 'paused')
local epoch, entrance, re_entry, paused = tonumber(c[1]), c[2], c[3], c[4]
if not epoch then
  return { 'no-queue' }
end
local s = redis.call('HMGET', state, 'v', 'last_order', 'entered', 'paused_at_ms', 'paused_ms')
local v, last_order, entered = tonumber(s[1]), tonumber(s[2]), tonumber(s[3])
local us = line_time_us(given_us, v)
local now_ms = math.floor(us / 1000)
v = next_version(us, v)

-- The place at the back: 2^49 is the phase after opening, 256 arrivals of one millisecond have an order of their own.
local order = math.max(last_order + 1, (now_ms - ERA_MS) * 256)
local score = 562949953421312 + order

local ready_score = tonumber(redis.call('ZSCORE', ready, id) or 0)
if ready_score > 0 then
  local clock_ms = claim_clock_ms(now_ms, paused, tonumber(s[4]), tonumber(s[5]))
  local deadline_ms = deadline_of(ready_score)
  if deadline_ms > clock_ms then
    return { 'joined', 'kept', epoch, 0, now_ms, 'ready', ready_score % 4096, deadline_ms + now_ms - clock_ms, now_ms, 0 }
  end
end
local active_score = tonumber(redis.call('ZSCORE', active, id) or 0)
if active_score > 0 and deadline_of(active_score) > now_ms then
  return { 'joined', 'kept', epoch, 0, now_ms, 'active', active_score % 4096, deadline_of(active_score), now_ms, 0 }
end

local in_line = redis.call('ZCARD', waiting)
local function kept()
  redis.call('HSET', state, 'v', v)
  local old_score = tonumber(redis.call('ZSCORE', waiting, id))
  return { 'joined', 'kept', epoch, v, now_ms, 'waiting', old_score, redis.call('ZRANK', waiting, id) + 1, now_ms, 0 }
end
if entrance ~= 'open' then
  if redis.call('ZSCORE', waiting, id) then
    return kept()
  end
  return { 'refused', entrance }
end

local function fast_track()
  if in_line > 0 or paused == '1' then
    return nil
  end
  local f = redis.call('HMGET', config, 'capacity', 'batch', 'interval_ms', 'session_ms')
  local taken = redis.call('ZCARD', ready) + redis.call('ZCARD', active)
  -- Its own place, where it timed out and nobody dropped it yet, is free.
  taken = taken - (ready_score > 0 and 1 or 0) - (active_score > 0 and 1 or 0)
  if taken >= tonumber(f[1]) then
    return nil
  end
  local b = redis.call('HMGET', state, 'credit', 'credit_at_ms')
  local batch, interval_ms = tonumber(f[2]), tonumber(f[3])
  local credit = refilled(tonumber(b[1]), tonumber(b[2]), now_ms, batch, interval_ms)
  if credit < interval_ms then
    return nil
  end
  redis.call('HSET', state, 'credit', credit - interval_ms, 'credit_at_ms', math.max(now_ms, tonumber(b[2])))
  redis.call('HINCRBY', state, 'fast_tracked', 1)
  local session_end_ms = now_ms + tonumber(f[4])
  redis.call('ZADD', active, deadline_score(session_end_ms, visit_of(score)), id)
  return session_end_ms
end

local session_end_ms = fast_track()
if not session_end_ms and redis.call('ZADD', waiting, 'NX', score, id) == 0 then
  if re_entry == 'keep' then
    return kept()
  end
  redis.call('ZADD', waiting, score, id)
  redis.call('HSET', state, 'v', v, 'last_order', order)
  return { 'joined', 'moved', epoch, v, now_ms, 'waiting', score, in_line, now_ms, 0 }
end

-- What timed out and nobody dropped yet ends with the new visit.
if ready_score > 0 then
  redis.call('ZREM', ready, id)
  redis.call('HINCRBY', state, 'no_shows', 1)
end
if active_score > 0 and (not session_end_ms) then
  redis.call('ZREM', active, id)
end
if active_score > 0 then
  redis.call('HINCRBY', state, 'expired', 1)
end
redis.call('HDEL', ended, id)
redis.call('HSET', state, 'v', v, 'last_order', order, 'entered', entered + 1)
if session_end_ms then
  return { 'joined', 'new', epoch, v, now_ms, 'active', visit_of(score), session_end_ms, now_ms, score }
end
return { 'joined', 'new', epoch, v, now_ms, 'waiting', score, in_line + 1, now_ms, 0 }
