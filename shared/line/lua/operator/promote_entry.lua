#!lua flags=allow-oom
-- Promotes one waiting entry by order of an operator, wherever in line it is. It takes a token of the pace like any other
-- promotion, or goes beyond the pace if the operator says so, but never beyond the capacity. No other entry goes past the
-- head of its lane by it, so it does not count as gone ahead.
-- allow-oom: this script only moves an entry from one sorted set to another.
-- include: hashes line line_table clock versions places scores claim_clock visits pace adaptive_pace end queue lanes presence tally promoted_entries opening entrance
-- KEYS: waiting ready active held visits ended present seen config state changes tally
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   held: sorted set, entry whose slot is held -> when the slot becomes free, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   present: sorted set, called entry that checked in lately -> place
--   seen: sorted set, called entry -> last check-in by the presence clock, negative if it is not present
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   changes: channel, one message for each tick that promotes entries
--   tally: hash, the waits, the stays and the peak since the generation began, and the totals before the queue was restored
-- ARGV: given_us witness_ms id over_pace
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   over_pace: 1 to go beyond the pace, which then takes no token, else 0
-- Output: {'no-queue'}: Redis does not have the queue
--         {'promoted', epoch, v, place or visit, step, 'ready', visit, claim_by_ms, now_ms}: the entry is ready, with this
--           version; the place is the one that it had, and the step that of its visit now
--         {'limited', 'clock' | 'switch' | 'service' | 'capacity' | 'pace'}: nothing changed; the word is the reason
--         {'not-waiting', 'ready' | 'active', visit, deadline_ms, now_ms}: the entry was promoted before
--         {'gone', 'ended', epoch, v, visit, step, step_ms, how, at_ms}: the entry ended in this way
--         {'gone', 'unknown', now_ms}: Redis knows nothing of the entry
local waiting, ready, active, held, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local present, seen, config, state, changes = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local tally = KEYS[12]
local given_us, witness_ms, id, over_pace = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local keys = { waiting = waiting, ready = ready, active = active, visits = visits, ended = ended, present = present,
  seen = seen, state = state }
local entry, refusal = find_waiting_entry(queue, keys, id)
if refusal then
  return refusal
end

local capacity, claim_ms, paused = unpack(redis.call('HMGET', config, 'capacity', 'claim_ms', 'paused'))
local claim_floor_ms, claim_floor_until_ms, promoted, waited_ms, waited_max_ms = unpack(redis.call('HMGET', state,
  'claim_floor_ms', 'claim_floor_until_ms', 'promoted', 'waited_ms', 'waited_max_ms'))
local bucket = read_bucket(config, state, queue.now_ms)
local takes_token = over_pace ~= '1' and not bucket.is_passthrough

-- What keeps the entry from being promoted; nil if nothing does.
local function find_limit()
  local entrance = read_entrance(config, queue.now_ms)
  local taken = redis.call('ZCARD', ready) + redis.call('ZCARD', active) + redis.call('ZCARD', held)
  if queue.clocks_apart then
    return 'clock'
  elseif paused == '1' or entrance == 'closed' or entrance == 'finished' or is_scheduled(config, queue.now_ms) then
    return 'switch'
  elseif bucket.is_service_down then
    return 'service'
  elseif taken >= tonumber(capacity) and not bucket.is_passthrough then
    return 'capacity'
  elseif takes_token and bucket.credit < bucket.interval_ms then
    return 'pace'
  end
end

local limit = find_limit()
if limit then
  return { 'limited', limit }
end

redis.call('ZREM', waiting, id)
redis.call('HDEL', visits, id)
if not forget_presence(keys, id, entry.place) then
  -- It did not go past the head, and leaves the line by a promotion all the same.
  redis.call('HINCRBY', state, 'gone_ahead_offset', 1)
end
claim_ms = tonumber(claim_ms)
if queue.now_ms < tonumber(claim_floor_until_ms) then
  claim_ms = math.max(claim_ms, tonumber(claim_floor_ms))
end
local place = describe_place(entry.place, entry.visit)
entry.state, entry.step, entry.step_ms = 'ready', entry.step + 1, queue.now_ms + claim_ms
redis.call('ZADD', ready, string.format('%.0f', queue.claim_clock_ms + claim_ms), id)
store_step(keys, id, entry)
spend_tokens(state, bucket, takes_token and 1 or 0)
local waits = durations.measure_waits({ id, entry.place }, queue.now_ms, (read_opening(config)))
durations.count_tick(tally, queue.now_ms, 0, waits)
redis.call('HSET', state, 'promoted', promoted + 1, 'waited_ms', tonumber(waited_ms or 0) + waits.sum_ms, 'waited_max_ms',
  math.max(tonumber(waited_max_ms or 0), waits.longest_ms))
local v = take_version(queue, state)
-- Wakes the poll of the visitor, and those before it in vain.
redis.call('SPUBLISH', changes,
  string.format('%.0f %.0f %.0f %.0f %.0f', entry.place, queue.epoch, v, queue.now_ms, entry.step_ms))
return { 'promoted', queue.epoch, v, place, entry.step, unpack(build_status(queue, keys, id, entry)) }
