#!lua flags=no-writes
-- Says where each of many entries is, as `status` does for one. It needs five commands for all entries, and one more
-- for each waiting entry.
-- include: hashes line line_table clock versions places scores claim_clock visits end queue
-- KEYS: waiting ready active visits ended config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms ...
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   ...: the entries; the caller sends some hundreds at most, because `unpack` is bounded
-- Output: {'no-queue'}: Redis does not have the queue
--         {'lookups', …}: and for each entry, in the order of the arguments, one of
--           'here', state, place or visit, position or deadline_ms, now_ms: the entry is in the line
--           'gone', 'ended', epoch, v, visit, step, step_ms, how, at_ms: the entry ended in this way
--           'gone', 'unknown', now_ms: Redis knows nothing of the entry
local waiting, ready, active, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local config, state = KEYS[6], KEYS[7]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local keys = { waiting = waiting, ready = ready, active = active, visits = visits, ended = ended }
local ids = { unpack(ARGV, 3) }
local visit_texts = redis.call('HMGET', visits, unpack(ids))
local end_texts = redis.call('HMGET', ended, unpack(ids))
local scores = {
  waiting = redis.call('ZMSCORE', waiting, unpack(ids)),
  ready = redis.call('ZMSCORE', ready, unpack(ids)),
  active = redis.call('ZMSCORE', active, unpack(ids)),
}

local reply = { 'lookups' }
local function append(values)
  for _, value in ipairs(values) do
    reply[#reply + 1] = value
  end
end
for i, id in ipairs(ids) do
  local visit, step, set, is_fast_tracked = parse_visit(visit_texts[i])
  local score = scores[set] and scores[set][i] -- none if a slot is held
  local entry = describe_entry(queue, visit, step, set, is_fast_tracked, score) or describe_missing(end_texts[i])
  if entry.is_live then
    append({ 'here' })
    append(build_status(queue, keys, id, entry))
  else
    append(build_gone(queue, entry))
  end
end
return reply
