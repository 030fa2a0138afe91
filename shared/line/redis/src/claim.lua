#!lua flags=allow-oom
-- Makes a ready entry active. The script is idempotent: for an active entry it reports the claim again, with a new
-- version.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: clock scores claim_clock queue
-- KEYS: waiting ready active ended config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline (by the claim clock) and visit
--   active: sorted set, entry -> session end and visit
--   ended: hash, entry -> its end, until the backup has it
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms id
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
-- Output: {'no-queue'}: Redis does not have the queue
--         {'active', epoch, v, 'active', visit, session_end_ms, now_ms}: the entry is active; (epoch, v) is the version
--         {'not-yet', 'waiting', score, position, now_ms}: the entry still waits
--         {'gone', 'ended' | 'unknown'}: the entry is not in the line
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, witness_ms, id = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local entry = find_entry(queue, waiting, ready, active, ended, id)
if not entry.visit then
  return { 'gone', entry.state }
end
if entry.state == 'waiting' then
  return { 'not-yet', unpack(build_status(queue, waiting, id, entry)) }
end
if entry.state == 'ready' then
  redis.call('ZREM', ready, id)
  redis.call('HINCRBY', state, 'claimed', 1)
  start_session(queue, active, id, entry)
end
local v = take_version(queue, state)
return { 'active', queue.epoch, v, unpack(build_status(queue, waiting, id, entry)) }
