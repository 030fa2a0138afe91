#!lua flags=allow-oom
-- Ends a visit: the visitor leaves, the protected service completes it, or an operator evicts the visitor.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: clock scores claim_clock queue end
-- KEYS: waiting ready active ended config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline (by the claim clock) and visit
--   active: sorted set, entry -> session end and visit
--   ended: hash, entry -> its end, until the backup has it
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms id expected_visit reason
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   expected_visit: the visit to end; empty for any
--   reason: 'leave', 'complete' or 'evict'
-- Output: {'no-queue'}: Redis does not have the queue
--         {'ended', epoch, v, 'completed' | 'left', visit, now_ms}: the visit ended, with this version and in this way
--         {'other-visit'}: the entry has another visit than expected, so nothing changed
--         {'not-active', state, score or visit, position or deadline_ms, now_ms}: only an active entry can be completed
--         {'gone', 'ended' | 'unknown'}: the entry is not in the line
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, witness_ms, id, expected_visit, reason = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local entry = find_entry(queue, waiting, ready, active, ended, id)
if not entry.visit then
  return { 'gone', entry.state }
end
if is_other_visit(expected_visit, entry) then
  return { 'other-visit' }
end
if reason == 'complete' and entry.state ~= 'active' then
  return { 'not-active', unpack(build_status(queue, waiting, id, entry)) }
end
local how = 'left'
if entry.state == 'active' and reason ~= 'evict' then
  how = 'completed'
end
local sets = { waiting = waiting, ready = ready, active = active }
redis.call('ZREM', sets[entry.state], id)
redis.call('HINCRBY', state, how, 1)
local v = take_version(queue, state)
redis.call('HSET', ended, id, format_end(queue.epoch, v, entry.visit, how, queue.now_ms))
return { 'ended', queue.epoch, v, how, entry.visit, queue.now_ms }
