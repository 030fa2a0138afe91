#!lua flags=allow-oom
-- Says whether an entry may act now. On request it also claims a ready entry, completes an active one, or extends a
-- session, which never makes it shorter. If the caller shows a pass of an entry that is waiting or ready again because
-- Redis lost its claim, the entry becomes active until the end of the pass.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: hashes line line_table clock versions places scores claim_clock visits end queue lanes presence tally
-- KEYS: waiting ready active visits ended settled present seen config state tally
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   settled: sorted set, entry -> line time since which the backup has the end in `ended`, in Unix milliseconds
--   present: sorted set, called entry that checked in lately -> place
--   seen: sorted set, called entry -> last check-in by the presence clock, negative if it is not present
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   tally: hash, the waits, the stays and the peak since the generation began, and the totals before the queue was restored
-- ARGV: given_us witness_ms id expected_visit claims completes use_id pass_end_ms extend_ms latest_end_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   expected_visit: the visit that the entry must have; empty for any
--   claims: 1 to claim a ready entry, else 0
--   completes: 1 to complete an active entry, else 0
--   use_id: if it completes the entry, the id of the use, which the end keeps; empty if there is none
--   pass_end_ms: the end of a pass that proves that the entry was active, in Unix milliseconds; empty if there is none
--   extend_ms: extends the session to this many milliseconds from now; empty to leave it
--   latest_end_ms: the latest end of an extended session, in Unix milliseconds; empty without `extend_ms`
-- Output: {'no-queue'}: Redis does not have the queue
--         {'active', epoch, v, 'none' | 'claimed' | 'completed' | 'extended', 'active', visit, session_end_ms, now_ms}:
--           the entry may act; v is 0 if nothing changed; the word is the last change
--         {'not-yet', state, place or visit, position or deadline_ms, now_ms}: the entry is not active
--         {'other-visit'}: the entry has another visit than expected
--         {'gone', 'ended', epoch, v, visit, step, step_ms, how, at_ms}: the entry ended in this way
--         {'gone', 'unknown', now_ms}: Redis knows nothing of the entry
local waiting, ready, active, visits, ended, settled = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local present, seen, config, state, tally = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local given_us, witness_ms, id, expected_visit, claims = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local completes, use_id, pass_end_ms = ARGV[6], ARGV[7], tonumber(ARGV[8])
local extend_ms, latest_end_ms = tonumber(ARGV[9]), tonumber(ARGV[10])

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local keys = { waiting = waiting, ready = ready, active = active, visits = visits, ended = ended, settled = settled,
  present = present, seen = seen, state = state }
-- A use that consumed a visit has consumed that one, also after the visitor has entered again.
local end_text = completes == '1' and use_id ~= '' and redis.call('HGET', ended, id)
local known_end = end_text and parse_end(end_text)
local word = 'consumed:' .. use_id .. ':'
if known_end and string.sub(known_end.how, 1, #word) == word and not is_other_visit(expected_visit, known_end) then
  return build_gone(queue, known_end)
end
local entry = find_entry(queue, keys, id)
if not entry.is_live then
  return build_gone(queue, entry)
end
if is_other_visit(expected_visit, entry) then
  return { 'other-visit' }
end
local is_not_yet = entry.state == 'waiting' or (entry.state == 'ready' and claims ~= '1')
local has_valid_pass = is_not_yet and pass_end_ms and pass_end_ms > queue.now_ms
if is_not_yet and not has_valid_pass then
  return { 'not-yet', unpack(build_status(queue, keys, id, entry)) }
end

local change, v = 'none', 0
if entry.state ~= 'active' then
  redis.call('ZREM', keys[entry.set], id)
  if entry.set == 'waiting' then
    forget_presence(keys, id, entry.place)
  end
  redis.call('HINCRBY', state, 'claimed', 1)
  entry.began_at_ms = queue.now_ms
  put_active(keys, id, entry, has_valid_pass and pass_end_ms or queue.now_ms + queue.session_ms)
  change = 'claimed'
  v = take_version(queue, state)
end
if completes == '1' then
  redis.call('ZREM', active, id)
  redis.call('HINCRBY', state, 'completed', 1)
  durations.count_stay(tally, state, entry.began_at_ms, queue.now_ms)
  change = 'completed'
  v = take_version(queue, state)
  -- The word is that of domain/consumption.rs.
  local how = use_id == '' and 'completed' or string.format('consumed:%s:%.0f', use_id, entry.step_ms)
  store_end(keys, id,
    { epoch = queue.epoch, v = v, visit = entry.visit, step = 6, step_ms = 0, how = how, at_ms = queue.now_ms })
elseif extend_ms then
  put_active(keys, id, entry, math.max(entry.step_ms, math.min(queue.now_ms + extend_ms, latest_end_ms)))
  change = 'extended'
  v = take_version(queue, state)
end
return { 'active', queue.epoch, v, change, unpack(build_status(queue, keys, id, entry)) }
