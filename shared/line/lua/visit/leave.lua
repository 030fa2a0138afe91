#!lua flags=allow-oom
-- Ends a visit: the visitor leaves, the protected service completes it, or an operator evicts the visitor.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: hashes line line_table clock versions places scores claim_clock visits end queue lanes presence tally
-- KEYS: waiting ready active held visits ended settled present seen config state tally
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   held: sorted set, entry whose slot is held -> when the slot becomes free, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   settled: sorted set, entry -> line time since which the backup has the end in `ended`, in Unix milliseconds
--   present: sorted set, called entry that checked in lately -> place
--   seen: sorted set, called entry -> last check-in by the presence clock, negative if it is not present
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   tally: hash, the waits, the stays and the peak since the generation began, and the totals before the queue was restored
-- ARGV: given_us witness_ms id expected_visit reason
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   expected_visit: the visit to end; empty for any
--   reason: 'leave', 'complete' or 'evict'
-- Output: {'no-queue'}: Redis does not have the queue
--         {'ended', epoch, v, 'completed' | 'left' | 'evicted', visit, now_ms, free_at_ms}: the visit ended in this
--           way, with this version; free_at_ms is when its slot becomes free, or 0 if it is free now
--         {'other-visit'}: the entry has another visit than expected, so nothing changed
--         {'not-active', state, place or visit, position or deadline_ms, now_ms}: only an active entry can be completed
--         {'gone', 'ended', epoch, v, visit, step, step_ms, how, at_ms}: the entry ended before, in this way
--         {'gone', 'unknown', now_ms}: Redis knows nothing of the entry
local waiting, ready, active, held, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local settled, present, seen, config, state = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local tally = KEYS[12]
local given_us, witness_ms, id, expected_visit, reason = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local keys = { waiting = waiting, ready = ready, active = active, held = held, visits = visits, ended = ended,
  settled = settled, present = present, seen = seen, state = state }
local entry = find_entry(queue, keys, id)
local is_held = entry.set == 'held'
if not entry.is_live and not (is_held and reason == 'complete') then
  return build_gone(queue, entry)
end
if is_other_visit(expected_visit, entry) then
  return { 'other-visit' }
end
if reason == 'complete' and entry.state ~= 'active' and not is_held then
  return { 'not-active', unpack(build_status(queue, keys, id, entry)) }
end

-- Until when a pass of this session may be valid, by line time; nil if that does not count. See
-- Settings::held_until_ms.
local function compute_free_at_ms(session_end_ms)
  local passes, pass_ms = unpack(redis.call('HMGET', config, 'passes', 'pass_ms'))
  local passes_until_ms = tonumber(redis.call('HGET', state, 'passes_until_ms') or 0)
  if passes ~= 'offline' then
    return nil
  end
  pass_ms = tonumber(pass_ms)
  local pass_end_ms = pass_ms > 0 and queue.now_ms + pass_ms or session_end_ms
  return math.min(session_end_ms, math.max(pass_end_ms, passes_until_ms))
end

local how = is_held and entry.how or reason == 'evict' and 'evicted' or reason == 'leave' and 'left' or 'completed'
local free_at_ms = entry.state == 'active' and how ~= 'completed' and compute_free_at_ms(entry.step_ms) or nil
redis.call('ZREM', keys[entry.set], id)
if entry.set == 'waiting' then
  forget_presence(keys, id, entry.place)
end
if not is_held then
  -- A visit whose slot is held was counted when its visitor left.
  redis.call('HINCRBY', state, how, 1)
  durations.count_stay(tally, state, entry.began_at_ms, queue.now_ms)
end
local v = take_version(queue, state)
store_end(keys, id, { epoch = queue.epoch, v = v, visit = entry.visit, step = free_at_ms and 5 or 6,
  step_ms = free_at_ms or 0, how = how, at_ms = queue.now_ms })
if free_at_ms then
  hold_slot(keys, id, entry.visit, how, free_at_ms)
end
return { 'ended', queue.epoch, v, how, entry.visit, queue.now_ms, free_at_ms or 0 }
