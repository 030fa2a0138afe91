#!lua
-- Gives a visitor a place: the one that the visitor has, a session at once (the fast track, a bypass, or the mode
-- `passthrough`), or the back of the line.
-- `state` repeats what this script needs of the configuration, so it reads one hash instead of two. And `visits` tells
-- whether the entry is ready or active: the script reads those sets only if it is. append_to_line.lua comes first and
-- handles what a crowd needs, so this script may take longer.
-- include: hashes line line_table clock versions claim_clock places scores arrivals visits pace adaptive_pace end lanes presence entrance opening tally
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
-- ARGV: given_us witness_ms id arrival drawn_order lane
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   arrival: 'bypass' if the visitor is admitted past the line while a slot is free, 'returning' if the backup may have a
--     place of the visitor, so that a full queue does not refuse, else 'ordinary'
--   drawn_order: the order that a draw gives to the entry, which counts before the opening of a queue that draws; else empty
--   lane: the lane of a new place, from 0 to 7. An entry in line keeps its own
-- Output: {'no-queue'}: Redis does not have the queue
--         {'refused', 'draining' | 'closed' | 'finished' | 'journal-full' | 'queue-full'}: the visitor got no place; the
--           word is the reason. A finished queue also refuses a visitor whose entry still waits
--         {'joined', 'new' | 'kept' | 'moved' | 'back', epoch, v, state, place or visit, position or deadline_ms,
--          now_ms, step, fast or after, place or moved_at_ms}:
--           the entry has a new place, keeps the one it had, moved to the back, or took back its slot, which was held;
--           v is 0 if nothing changed; step is the step of its visit. For an entry that keeps its place, or is
--           admitted from it, `fast` is 1 if it is only known to be admitted by the fast track or a bypass, else 0. Any
--           other reply has `after`, its latest visit that is known to be over (0: none), and only if the entry is active
--           it ends with `place`. For a waiting entry that keeps its place it ends with when an operator moved it to
--           another lane, 0 for never.
local waiting, ready, active, held, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local settled, present, seen, config, state = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local tally = KEYS[12]
local given_us, witness_ms, id, arrival = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local drawn_order, lane = tonumber(ARGV[5]), tonumber(ARGV[6])

local line = read_line_fields(state)
if not line then
  return { 'no-queue' }
end
local epoch, entrance = line.epoch, line.entrance
local re_entry, paused, paused_at_ms, paused_ms =
  unpack(redis.call('HMGET', state, 're_entry', 'paused', 'paused_at_ms', 'paused_ms'))
local us, clocks_apart, ahead_ms = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
if clocks_apart then
  -- Stores the offset that this caller measured. The promoter may adjust the clock if its own measurement agrees.
  redis.call('HSET', state, 'testified_ms', line.offset_ms - ahead_ms)
end
local now_ms = math.floor(us / 1000)
line.v = next_version(us, line.v)
if line.entrance_changes_at_ms and now_ms >= line.entrance_changes_at_ms then
  entrance = read_entrance(config, now_ms)
end
local takes_newcomers = entrance == 'open' and line.journal_full == 0
local is_before_opening = is_scheduled(config, now_ms)
local draws_places = is_before_opening and redis.call('HGET', config, 'before_opening') == 'draw'

-- The end that `ended` has of the entry; nil if there is none.
local function read_end()
  local end_text = redis.call('HGET', ended, id)
  return end_text and parse_end(end_text) or nil
end

local function is_missed_first_turn(known_end)
  return known_end.how == 'no-show' and known_end.step == 1
end

-- A ready or active entry stays as it is until its deadline. If the deadline has passed, a new visit ends the old one.
local visit, step, set, is_fast_tracked, _, at_ms = parse_visit(redis.call('HGET', visits, id))
local timed_out, held_until_ms
if set == 'held' then
  held_until_ms = tonumber(redis.call('ZSCORE', held, id))
  redis.call('ZREM', held, id)
  redis.call('HDEL', visits, id)
elseif set == 'active' then
  local session_end_ms = tonumber(redis.call('ZSCORE', active, id))
  if session_end_ms > now_ms then
    write_line_fields(state, line)
    return { 'joined', 'kept', epoch, line.v, 'active', visit, session_end_ms, now_ms, step,
      is_fast_tracked and 1 or 0 }
  end
  timed_out = { set = active, total = 'expired', how = 'expired', step_ms = session_end_ms, began_at_ms = at_ms }
elseif set == 'ready' then
  local claim_clock_ms = compute_claim_clock_ms(now_ms, paused, tonumber(paused_at_ms), tonumber(paused_ms))
  local deadline_ms = tonumber(redis.call('ZSCORE', ready, id))
  local line_deadline_ms = deadline_ms + now_ms - claim_clock_ms
  if deadline_ms > claim_clock_ms then
    return { 'joined', 'kept', epoch, 0, 'ready', visit, line_deadline_ms, now_ms, step, 0 }
  end
  timed_out = { set = ready, total = 'no_shows', how = 'no-show', step_ms = line_deadline_ms }
end

-- The place at the back of the line. A draw gives a waiting entry another one, before all who come without a drawn order.
local order = next_order(now_ms, line.last_order)
local place = lane * LANE_PLACES + PHASE_OPEN + order
local line_place = draws_places and drawn_order and lane * LANE_PLACES + drawn_order or place
local in_line = redis.call('ZCARD', waiting)
local session_end_ms
local keys = { waiting = waiting, ended = ended, settled = settled, visits = visits, present = present, seen = seen,
  state = state }
-- The count of the last tick decides too, because append_to_line.lua goes by it.
local absent = in_line > 0 and count_absent(read_lanes(state)) or 0
local old_place = in_line > 0 and tonumber(redis.call('ZSCORE', waiting, id)) or nil
local is_line_empty = in_line == absent and in_line <= line.absent and not old_place

-- Makes the entry active at once: a new visit. Returns the reply.
local function admit(way, session_end_ms, after)
  write_line_fields(state, line)
  redis.call('ZADD', active, string.format('%.0f', session_end_ms), id)
  redis.call('HSET', visits, id, string.format('%.0f 4 %.0ffast', order, now_ms))
  return { 'joined', way, epoch, line.v, 'active', order, session_end_ms, now_ms, 4, after, place }
end

-- Makes the waiting entry active at once, in the same visit. Returns the reply.
local function admit_waiting(session_end_ms)
  redis.call('ZREM', waiting, id)
  forget_presence(keys, id, old_place)
  write_line_fields(state, line)
  local waiting_visit = visit or old_place % ORDER_RANGE
  redis.call('ZADD', active, string.format('%.0f', session_end_ms), id)
  redis.call('HSET', visits, id, string.format('%.0f 4 %.0f', waiting_visit, now_ms))
  return { 'joined', 'kept', epoch, line.v, 'active', waiting_visit, session_end_ms, now_ms, 4, 0 }
end

-- A visitor who enters while the own slot is held takes it back until the same end, whatever the pace, the capacity and
-- the entrance. So no visitor has two slots.
if held_until_ms and held_until_ms > now_ms then
  line.last_order, line.entered = order, line.entered + 1
  return admit('back', held_until_ms, visit)
end

-- The next tick ends the entry if it waits. A bypass opens no queue that is over.
if entrance == 'finished' then
  return { 'refused', entrance }
end

-- A bypass needs a free slot and clocks that agree, and nothing else. The fast track: the setting allows it, no entry
-- waits but absent ones, the queue takes newcomers, is open and not paused, the clocks agree, the protected service is
-- not down, a slot is free, and the pace bucket holds a token. In the mode `passthrough` neither the line, nor the slots,
-- nor the bucket matter.
local may_bypass = arrival == 'bypass' and not clocks_apart
local is_moving = paused ~= '1' and not is_before_opening
local is_passthrough = line.entrance_changes_at_ms == 0
local may_pass = (is_line_empty or is_passthrough) and is_moving and takes_newcomers and not clocks_apart
if may_bypass or may_pass then
  local capacity, session_ms, fast_track =
    unpack(redis.call('HMGET', config, 'capacity', 'session_ms', 'fast_track'))
  local bucket = read_bucket(config, state, now_ms)
  -- The slot of this entry's old visit is free: that visit timed out, although `promote` did not remove it yet.
  local taken = redis.call('ZCARD', ready) + redis.call('ZCARD', active) + redis.call('ZCARD', held)
    - (timed_out and 1 or 0)
  local is_slot_free = taken < tonumber(capacity)
  if is_slot_free and may_bypass then
    session_end_ms = now_ms + tonumber(session_ms)
    redis.call('HINCRBY', state, 'bypassed', 1)
  elseif may_pass and is_passthrough then
    session_end_ms = now_ms + tonumber(session_ms)
    redis.call('HINCRBY', state, 'fast_tracked', 1)
  elseif may_pass and is_slot_free and fast_track ~= '0' and not bucket.is_service_down
    and bucket.credit >= bucket.interval_ms then
    session_end_ms = now_ms + tonumber(session_ms)
    spend_tokens(state, bucket, 1)
    redis.call('HINCRBY', state, 'fast_tracked', 1)
  end
end

if old_place and session_end_ms then
  return admit_waiting(session_end_ms)
end

-- Whether a visitor at the back of this lane is called by entering. The last tick counted how many more are in the default
-- lane. In any other lane it is those of the least window, while the whole lane is called.
local function is_called_by_entering(new_lane, progress)
  if new_lane == LANE_DEFAULT then
    return line.newcomers_called > 0
  end
  local top = find_lane_top(new_lane)
  return progress.check_in_through == top
    and count_between(waiting, progress.passed_through, top) <= WINDOW_ENTRIES_MIN
end

-- Counts an entry that has joined the back of a lane, and returns its position. A visitor who is called by entering has to
-- check in at once. Before the queue opens, none is called. The position is counted exactly only in a queue with several
-- lanes.
local function join_lane(new_place, absent_position)
  local new_lane = find_lane(new_place)
  line.has_lanes = line.has_lanes or new_lane ~= LANE_DEFAULT
  local progress = line.has_lanes and read_lane(state, new_lane) or parse_lane(new_lane, nil)
  if not is_before_opening and is_called_by_entering(new_lane, progress) then
    if new_lane == LANE_DEFAULT then
      line.newcomers_called = line.newcomers_called - 1
    end
    call_newcomer(keys, id, now_ms)
  end
  return line.has_lanes and find_position(keys, id, new_place, progress) or math.max(absent_position, 1)
end

-- The back of the line, for an entry that does not wait yet. Absent entries do not count for the limit, by their number
-- at the last tick, as in append_to_line.lua.
local is_full = line.queue_limit and in_line - line.absent >= line.queue_limit and arrival ~= 'returning'
if not old_place and not session_end_ms and takes_newcomers and not is_full then
  redis.call('ZADD', waiting, string.format('%.0f', line_place), id)
elseif not session_end_ms then
  if not old_place then
    return { 'refused', takes_newcomers and 'queue-full' or entrance == 'open' and 'journal-full' or entrance }
  end
  if re_entry == 'requeue' and entrance == 'open' and not draws_places then
    -- The entry stays in its lane.
    place = find_lane(old_place) * LANE_PLACES + PHASE_OPEN + order
    redis.call('ZADD', waiting, place, id)
    redis.call('HDEL', visits, id)
    forget_presence(keys, id, old_place)
    local position = join_lane(place, in_line - line.absent)
    line.last_order = order
    write_line_fields(state, line)
    -- After a missed first turn, the place that is given up may be provisional. The visitor may then come back to the
    -- place of that turn, so no visit is named.
    local known_end = read_end()
    local is_after_missed_turn = known_end and is_missed_first_turn(known_end)
    local given_up = is_after_missed_turn and 0 or visit or old_place % ORDER_RANGE
    return { 'joined', 'moved', epoch, line.v, 'waiting', place, position, now_ms, 0, given_up }
  end
  write_line_fields(state, line)
  local progress = read_lane(state, find_lane(old_place))
  return { 'joined', 'kept', epoch, line.v, 'waiting', describe_place(old_place, visit or 0),
    find_position(keys, id, old_place, progress), now_ms, step, 0, at_ms or 0 }
end

-- The visit before this one. The backup may still show it as live, so the caller names it to the backup. A visitor who
-- missed the first turn may come back to the old place, so such a visit is not named. A visitor of a crowd pays for no
-- search: if the backup still shows an earlier visit as live, it refuses the place, and adopt.lua names the visit.
local known_end = timed_out
if timed_out then
  redis.call('ZREM', timed_out.set, id)
  redis.call('HINCRBY', state, timed_out.total, 1)
  durations.count_stay(tally, state, timed_out.began_at_ms, timed_out.step_ms)
  timed_out.visit, timed_out.step = visit, step
  timed_out.epoch, timed_out.v, timed_out.at_ms = epoch, line.v, now_ms
  store_end(keys, id, timed_out)
  line.v = line.v + 1
elseif is_line_empty or session_end_ms then
  known_end = read_end()
end
local names_visit = known_end and not is_missed_first_turn(known_end)
local after = names_visit and known_end.visit or 0

line.last_order, line.entered = order, line.entered + 1
if session_end_ms then
  return admit('new', session_end_ms, after)
end
local position = join_lane(line_place, in_line + 1 - line.absent)
write_line_fields(state, line)
if is_drawn(line_place) then
  -- This comes after the end of an earlier visit, which removes what `visits` had of it.
  redis.call('HSET', visits, id, string.format('%.0f 0', order))
end
return { 'joined', 'new', epoch, line.v, 'waiting', describe_place(line_place, order), position, now_ms, 0, after }
