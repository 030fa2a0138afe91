#!lua flags=no-writes
-- Says where each of many entries is, as `status` does for one. It needs four commands for all entries that are not in
-- the line, and one more for each waiting entry.
-- include: clock scores claim_clock queue
-- KEYS: waiting ready active ended config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline (by the claim clock) and visit
--   active: sorted set, entry -> session end and visit
--   ended: hash, entry -> its end, until the backup has it
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms ...
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   ...: the entries; the caller sends some hundreds at most, because `unpack` is bounded
-- Output: {'no-queue'}: Redis does not have the queue
--         {'lookups', …}: and for each entry, in the order of the arguments, one of
--           'here', state, score or visit, position or deadline_ms, now_ms: the entry is in the line
--           'gone', 'ended' | 'unknown': the entry is not in the line
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local ids = { unpack(ARGV, 3) }
local waiting_scores = redis.call('ZMSCORE', waiting, unpack(ids))
local ready_scores = redis.call('ZMSCORE', ready, unpack(ids))
local active_scores = redis.call('ZMSCORE', active, unpack(ids))
local ends = redis.call('HMGET', ended, unpack(ids))

local reply = { 'lookups' }
for i, id in ipairs(ids) do
  local entry = read_waiting(waiting_scores[i]) or read_ready(queue, ready_scores[i])
    or read_active(queue, active_scores[i]) or describe_missing(ends[i])
  if entry.visit then
    reply[#reply + 1] = 'here'
    for _, value in ipairs(build_status(queue, waiting, id, entry)) do
      reply[#reply + 1] = value
    end
  else
    reply[#reply + 1] = 'gone'
    reply[#reply + 1] = entry.state
  end
end
return reply
