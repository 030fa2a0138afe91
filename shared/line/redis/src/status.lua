#!lua flags=no-writes
-- Says where an entry is.
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
--         {'here', state, score or visit, position or deadline_ms, now_ms}: the entry is in the line
--         {'gone', 'ended' | 'unknown'}: the entry is not in the line; whether Redis still has its end
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
return { 'here', unpack(build_status(queue, waiting, id, entry)) }
