#!lua flags=allow-oom
-- Moves a waiting entry to another lane, by order of an operator. Its place there is that of its joining, so among the
-- entries of the new lane it stands where it would if it had entered that lane. The visit stays. A visitor who was
-- present stays present; any other is absent if the new place was passed over.
-- include: hashes line line_table clock versions places scores claim_clock visits end queue lanes presence
-- KEYS: waiting ready active visits ended present seen config state changes
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   present: sorted set, called entry that checked in lately -> place
--   seen: sorted set, called entry -> last check-in by the presence clock, negative if it is not present
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   changes: channel, one message for each tick that promotes entries
-- ARGV: given_us witness_ms id lane
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   lane: the new lane, from 0 to 7
-- Output: {'no-queue'}: Redis does not have the queue
--         {'moved', epoch, v, from_lane, step, moved_at_ms, place or visit, position, now_ms}: the entry has this place
--           now, with this version. The position is that in the lane
--         {'kept', place or visit, position, now_ms}: the entry was in this lane already
--         {'not-waiting', 'ready' | 'active', visit, deadline_ms, now_ms}: only a waiting entry has a lane
--         {'gone', 'ended', epoch, v, visit, step, step_ms, how, at_ms}: the entry ended in this way
--         {'gone', 'unknown', now_ms}: Redis knows nothing of the entry
local waiting, ready, active, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local present, seen, config, state, changes = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local given_us, witness_ms, id, lane = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

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

-- Where the entry waits now: its place, its position in the lane, and the line time.
local function build_place()
  local position = find_position(keys, id, entry.place, read_lane(state, find_lane(entry.place)))
  return describe_place(entry.place, entry.visit), position, queue.now_ms
end

local from_lane, old_place = find_lane(entry.place), entry.place
if lane == from_lane then
  return { 'kept', build_place() }
end
local was_present = redis.call('ZSCORE', present, id) and true or false
entry.place = old_place + (lane - from_lane) * LANE_PLACES
redis.call('ZADD', waiting, string.format('%.0f', entry.place), id)
local was_absent = forget_presence(keys, id, old_place)
put_back(keys, id, entry.place, was_present, was_absent)
-- A later move is a greater fact, also if line time stands still.
entry.step_ms = math.max(queue.now_ms, entry.step_ms + 1)
store_step(keys, id, entry)
queue.line.has_lanes = true
local v = take_version(queue, state)
-- Wakes the poll of the visitor, which is held at the old place or before it.
redis.call('SPUBLISH', changes,
  string.format('%.0f %.0f %.0f %.0f 0', old_place, queue.epoch, v, queue.now_ms))
return { 'moved', queue.epoch, v, from_lane, entry.step, entry.step_ms, build_place() }
