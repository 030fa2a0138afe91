#!lua flags=allow-oom
-- Repairs one entry: makes it agree with the backup, unless it changed since the caller saw it. If the backup shows a
-- later state of the visit, the entry takes that state or ends. Otherwise it stays, and the reply repeats it for the
-- backup. See docs/adr/0008-consistency-check.md.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: clock scores claim_clock queue end put
-- KEYS: waiting ready active ended config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline (by the claim clock) and visit
--   active: sorted set, entry -> session end and visit
--   ended: hash, entry -> its end, until the backup has it
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms id generation seen_state seen_score record_epoch record_v target visit session_end_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   generation: the generation of the backup's record
--   seen_state: where the caller saw the entry: 'waiting', 'ready' or 'active'
--   seen_score: the score that the caller saw; for a ready entry its deadline may be by line time or by the claim clock
--   record_epoch, record_v: the version of the backup's record; 0 and 0 if the backup has no record
--   target: the state that the entry takes ('ready' or 'active'), the way it ends ('completed', 'left', 'no-show' or
--     'expired'), or empty if the entry stays as it is
--   visit: the visit of the backup's record, or the visit that the caller saw if there is no record
--   session_end_ms: if `target` is 'active', the end of the session, in Unix milliseconds
-- Output: {'no-queue'}: Redis does not have the queue
--         {'refused'}: the record is of another generation, or of a later epoch than the queue; nothing changed
--         {'moved'}: the entry changed since the caller saw it, so nothing changed
--         {'ended', epoch, v, 'completed' | 'left' | 'no-show' | 'expired', visit, now_ms}: the entry ended
--         {'here', epoch, v, took_target, state, score or visit, position or deadline_ms, now_ms}: the entry is in the
--           line; took_target is 1 if it took the target state, else 0
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, witness_ms, id, generation = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local seen_state, seen_score, record_epoch, record_v = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local target, visit, session_end_ms = ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11])

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
if tonumber(redis.call('HGET', config, 'generation')) ~= generation or queue.epoch < record_epoch then
  return { 'refused' }
end
-- An entry whose deadline has passed counts as moved: the next `promote` removes it.
local sets = { waiting = waiting, ready = ready, active = active }
local entry = find_entry(queue, waiting, ready, active, ended, id)
local score = entry.state == seen_state and tonumber(redis.call('ZSCORE', sets[seen_state], id))
-- Callers know the deadline of a ready entry by line time, and the set holds it by the claim clock.
local line_score = score and seen_state == 'ready' and encode_deadline(entry.deadline_ms, entry.visit)
if not score or (score ~= seen_score and line_score ~= seen_score) then
  return { 'moved' }
end

-- The version is later than that of the backup's record, so the backup accepts the change.
queue.v = math.max(queue.v, record_v)
local v = take_version(queue, state)
if target == 'active' and session_end_ms <= queue.now_ms then
  target = 'expired'
end
if target == '' then
  return { 'here', queue.epoch, v, 0, unpack(build_status(queue, waiting, id, entry)) }
end
redis.call('ZREM', sets[seen_state], id)
if target == 'ready' or target == 'active' then
  entry = { state = target, visit = visit, deadline_ms = session_end_ms }
  put_entry(queue, sets, config, state, id, entry)
  return { 'here', queue.epoch, v, 1, unpack(build_status(queue, waiting, id, entry)) }
end
redis.call('HINCRBY', state, target == 'no-show' and 'no_shows' or target, 1)
redis.call('HSET', ended, id, format_end(queue.epoch, v, visit, target, queue.now_ms))
return { 'ended', queue.epoch, v, target, visit, queue.now_ms }
