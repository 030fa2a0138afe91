#!lua flags=allow-oom
-- Makes a ready entry active. The script is idempotent: for an active entry it reports the claim again, with a new
-- version. A session by the fast track counts as claimed from then on.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: hashes line line_table clock versions places scores claim_clock visits end queue
-- KEYS: waiting ready active visits ended config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms id
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
-- Output: {'no-queue'}: Redis does not have the queue
--         {'active', epoch, v, 'active', visit, session_end_ms, now_ms}: the entry is active; (epoch, v) is the version
--         {'not-yet', 'waiting', place, position, now_ms}: the entry still waits
--         {'gone', 'ended', epoch, v, visit, step, step_ms, how, at_ms}: the entry ended in this way
--         {'gone', 'unknown', now_ms}: Redis knows nothing of the entry
local waiting, ready, active, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local config, state = KEYS[6], KEYS[7]
local given_us, witness_ms, id = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local keys = { waiting = waiting, ready = ready, active = active, visits = visits, ended = ended }
local entry = find_entry(queue, keys, id)
if not entry.is_live then
  return build_gone(queue, entry)
end
if entry.state == 'waiting' then
  return { 'not-yet', unpack(build_status(queue, keys, id, entry)) }
end
if entry.state == 'ready' then
  redis.call('ZREM', ready, id)
  redis.call('HINCRBY', state, 'claimed', 1)
  if redis.call('HEXISTS', state, 'presence') == 1 then
    -- The front door is up: see domain/presence.rs.
    redis.call('HINCRBY', state, 'check_ins', 1)
  end
  entry.began_at_ms = queue.now_ms
  put_active(keys, id, entry, queue.now_ms + queue.session_ms)
elseif entry.is_fast_tracked then
  put_active(keys, id, entry, entry.step_ms)
end
local v = take_version(queue, state)
return { 'active', queue.epoch, v, unpack(build_status(queue, keys, id, entry)) }
