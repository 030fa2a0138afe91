#!lua flags=allow-oom
-- Compares one entry with its record in the backup. The greater fact wins: Redis takes
-- the record over, or the reply has what the backup is to get. A provisional place that the backup refused yields to an
-- earlier visit that goes on: the only case in which a lower visit wins.
-- See docs/adr/0016-one-order-of-truth.md.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: hashes line line_table clock versions places scores claim_clock visits end facts queue lanes presence tally
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
-- ARGV: given_us witness_ms id generation basis unknown_at_ms within_ms given_visit grace_seconds epoch v visit step step_ms over place how ended_at_ms began_at_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   generation: the generation of the record
--   basis: what the caller knows of the entry in Redis: 'known' (Redis has it or an end of it), 'unknown' or
--     'provisional' (`enter` gave it a place that the backup refused)
--   unknown_at_ms: if unknown, the line time at which Redis did not know the entry
--   within_ms: if unknown, the script refuses when that is longer ago than this, in milliseconds
--   given_visit: if provisional, the visit that began with the place
--   grace_seconds: if provisional, how long a visitor who missed the first turn may come back
--   epoch, v: the version of the record
--   visit, step, step_ms: its fact; all of this is empty if there is no record
--   over: 1 if the time of the step ran out, else 0
--   place: its place; empty if the record has none
--   how, ended_at_ms: if it ended, in which way and when, in Unix milliseconds
--   began_at_ms: when its session began, in Unix milliseconds; empty if it had none, or if that is not known
-- Output: {'no-queue'}: Redis does not have the queue
--         {'rejected'}: the record is of another generation or of a later epoch, or the caller's knowledge is too old;
--           nothing changed
--         {'future'}: the visit of the record began more than a minute after the current time; nothing changed
--         {'live', epoch, v, adopted, state, place or visit, position or deadline_ms, now_ms, step, fast, moved_at_ms}: the entry is
--           live; v is 0 if the backup has this already; adopted is 1 if Redis took it over, else 0; fast is 1 if it
--           is only known to be admitted by the fast track, else 0; moved_at_ms is when an operator moved the waiting entry
--           to another lane, 0 for never
--         {'ended', removed}: the entry ended, and the backup has that; removed is 1 if it was live until now, else 0
--         {'end-to-write', removed, epoch, v, visit, step, step_ms, how, at_ms}: the backup lacks that the entry ended
--         {'stands', after}: the provisional place stands; after is the latest visit that is over, 0 for none
--         {'enter-again'}: the provisional place is removed, because a later visit of the entry is over
local waiting, ready, active, held, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local settled, present, seen, config, state = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local tally = KEYS[12]
local given_us, witness_ms, id, generation, basis = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local unknown_at_ms, within_ms = tonumber(ARGV[6]), tonumber(ARGV[7])
local given_visit, grace_seconds = tonumber(ARGV[8]), tonumber(ARGV[9])
local epoch, v, visit, step = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local step_ms, over, place, how = tonumber(ARGV[14]), ARGV[15], tonumber(ARGV[16]), ARGV[17]
local ended_at_ms, began_at_ms = tonumber(ARGV[18]), tonumber(ARGV[19])

local FUTURE_MAX_MS = 60000 -- how far a visit may be ahead of both clocks: FUTURE_MAX_MS in domain/clock.rs
-- Any other way is the word for a consumed visit: `consumed:use_id:session_end_ms`.
local TOTALS = { completed = 'completed', left = 'left', evicted = 'evicted', expired = 'expired',
  ['no-show'] = 'no_shows', absence = 'absences', dismissed = 'dismissed', ['overlong-wait'] = 'overlong_waits' }

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
if redis.call('HGET', config, 'generation') ~= generation or (visit and queue.epoch < epoch) then
  return { 'rejected' }
end
if visit and math.floor(visit / ARRIVALS_PER_MS) + ERA_MS > queue.latest_ms + FUTURE_MAX_MS then
  return { 'future' }
end
local keys = { waiting = waiting, ready = ready, active = active, held = held, visits = visits, ended = ended,
  settled = settled, present = present, seen = seen, state = state }
local entry = find_entry(queue, keys, id)
local record = visit and { visit = visit, step = step, step_ms = step_ms, is_over = over == '1', place = place,
  epoch = epoch, v = v, how = how, at_ms = ended_at_ms or queue.now_ms }

local function is_live(fact)
  return not fact.is_over and fact.step <= 4
end

-- Whether the session of an active entry ran out, although the backup does not have its end yet.
local function has_run_out(fact)
  return is_live(fact) and fact.step == 4 and fact.step_ms <= queue.now_ms
end

-- Whether the visit ended and its slot is still held.
local function is_held(fact)
  return fact.step == 5 and fact.step_ms > queue.now_ms
end

-- Whether the entry counts in the totals as not ended: one whose slot is held was counted when its visitor left.
local function is_in_line()
  return entry.set and entry.set ~= 'held'
end

-- The number of the next visit must be above that of every known one. Each caller takes a version after this, which
-- stores the line fields.
local function raise_last_order(known_visit)
  queue.line.last_order = math.max(queue.line.last_order, known_visit)
end

-- Takes back the count of a provisional place, which is no visit. A total is never negative: if no visit counts as
-- entered, this one counts as returned, and the visitor moved to the back of the line since. Each caller takes a
-- version after this, too.
local function uncount_entered()
  if queue.line.entered > 0 then
    queue.line.entered = queue.line.entered - 1
  elseif tonumber(redis.call('HGET', state, 'returned')) > 0 then
    redis.call('HINCRBY', state, 'returned', -1)
  end
end

-- Returns whether the entry was absent.
local function remove_from_set()
  if entry.set then
    redis.call('ZREM', keys[entry.set], id)
    redis.call('HDEL', visits, id)
    if entry.set == 'waiting' then
      return forget_presence(keys, id, entry.place)
    end
  end
end

local function build_live(version, adopted, live)
  local reply = { 'live', queue.epoch, version, adopted, unpack(build_status(queue, keys, id, live)) }
  reply[#reply + 1] = live.step
  reply[#reply + 1] = live.is_fast_tracked and 1 or 0
  reply[#reply + 1] = live.state == 'waiting' and live.step_ms or 0
  return reply
end

local function build_end_to_write(removed, visit_end)
  return { 'end-to-write', removed, visit_end.epoch, visit_end.v, visit_end.visit, visit_end.step, visit_end.step_ms,
    visit_end.how, visit_end.at_ms }
end

-- Computes by when an entry that becomes ready again has to be claimed, by line time. Its visitor could not claim while
-- Redis did not have it as ready, so the whole claim time begins anew.
local function compute_claim_by_ms(earliest_ms)
  local claim_ms = tonumber(redis.call('HGET', config, 'claim_ms'))
  local claim_floor_ms, claim_floor_until_ms =
    unpack(redis.call('HMGET', state, 'claim_floor_ms', 'claim_floor_until_ms'))
  if queue.now_ms < tonumber(claim_floor_until_ms) then
    claim_ms = math.max(claim_ms, tonumber(claim_floor_ms))
  end
  return math.max(earliest_ms, queue.now_ms + claim_ms)
end

-- Replaces what Redis has of the entry by a live fact. Every end that it has is of an earlier fact. Returns the reply.
-- The backup has the fact, unless `is_new`, by a visitor who came back, or its deadline is new.
local function put_entry(fact, fact_place, is_new)
  local was_absent = remove_from_set()
  redis.call('HDEL', ended, id)
  redis.call('ZREM', settled, id)
  local put = { is_live = true, visit = fact.visit, step = fact.step, step_ms = fact.step_ms, is_over = false }
  if fact.step == 4 then
    if entry.is_live and entry.state ~= 'active' then
      redis.call('HINCRBY', state, 'claimed', 1)
    end
    put.began_at_ms = began_at_ms
    put_active(keys, id, put, fact.step_ms)
  elseif fact.step == 1 or fact.step == 3 then
    put.state, put.step_ms, is_new = 'ready', compute_claim_by_ms(fact.step_ms), true
    local deadline_ms = put.step_ms - queue.now_ms + queue.claim_clock_ms
    redis.call('ZADD', ready, string.format('%.0f', deadline_ms), id)
  else
    put.state, put.place = 'waiting', fact_place or LANE_DEFAULT * LANE_PLACES + PHASE_OPEN + fact.visit
    queue.line.has_lanes = queue.line.has_lanes or find_lane(put.place) ~= LANE_DEFAULT
    redis.call('ZADD', waiting, string.format('%.0f', put.place), id)
    put_back(keys, id, put.place, false, was_absent)
  end
  if put.state ~= 'active' then
    store_step(keys, id, put)
  end
  local version = take_version(queue, state)
  return build_live(is_new and version or 0, 1, put)
end

-- Stores the end of the record, which the backup has, and holds the slot as long as the record says.
local function store_settled_end()
  store_end(keys, id, record)
  redis.call('ZADD', settled, string.format('%.0f', queue.now_ms), id)
  if is_held(record) then
    hold_slot(keys, id, record.visit, record.how, record.step_ms)
  end
end

-- Decides about the provisional place from the greatest fact that is known besides it, if any. Returns the reply, or
-- nil if the record decides: that visit goes on, or is the provisional one itself.
local function resolve_provisional(known)
  if not known then
    return { 'stands', 0 }
  elseif is_live(known) or known.visit == entry.visit then
    return nil
  elseif known.visit > entry.visit then
    raise_last_order(known.visit)
    remove_from_set()
    uncount_entered()
    take_version(queue, state)
    -- Else `ended` would tell of an earlier visit, once the slot is free.
    if record and record.visit == known.visit and record.step == known.step and not is_live(record) then
      store_settled_end()
    end
    return { 'enter-again' }
  end
  local grace_until_ms = known.step_ms + grace_seconds * 1000
  local joined_at_ms = math.floor(entry.visit / ARRIVALS_PER_MS) + ERA_MS
  local is_missed_turn = known.is_over and known.step == 1
  if is_missed_turn and grace_seconds > 0 and joined_at_ms <= grace_until_ms then
    uncount_entered()
    redis.call('HINCRBY', state, 'returned', 1)
    local old_place = record and record.visit == known.visit and record.place or nil
    return put_entry({ visit = known.visit, step = 2, step_ms = 0 }, old_place, true)
  end
  return { 'stands', known.visit }
end

-- 1. The entry still has the provisional place that enter.lua gave: it waits, or it got a session by the fast track.
local record_wins = false
if basis == 'provisional' and entry.is_live and entry.visit == given_visit
  and (entry.step == 0 or entry.step == 4) then
  local end_text = redis.call('HGET', ended, id)
  local known = end_text and parse_end(end_text)
  local recorded = record and { visit = record.visit, step = record.step, step_ms = record.step_ms,
    is_over = record.is_over or has_run_out(record) }
  if recorded and not (known and is_earlier_fact(recorded, known)) then
    known = recorded
  end
  local reply = resolve_provisional(known)
  if reply then
    return reply
  end
  -- An earlier visit wins that goes on. Otherwise the greater fact wins below.
  record_wins = known.visit < entry.visit
end

-- 2. Redis knows nothing of the entry. The caller may have learned that before a visit that began and ended since. The
-- script believes it only for a short time, in which `ended` would still have that end.
if entry.state == 'unknown' then
  if basis ~= 'unknown' or queue.now_ms - unknown_at_ms > within_ms then
    return { 'rejected' }
  end
  if not record or not (is_live(record) or is_held(record)) then
    return { 'ended', 0 }
  end
  record_wins = true
end

-- 3. The greater fact wins. The deadlines of two ready entries are not compared, because they move while the queue is
-- paused.
local agrees = false
if record and not record_wins then
  local both_ready = entry.state == 'ready' and is_live(record)
  agrees = record.visit == entry.visit and record.step == entry.step
    and (both_ready or (record.step_ms == entry.step_ms and record.is_over == entry.is_over))
  record_wins = not agrees and is_earlier_fact(entry, record)
end
if not record_wins then
  if entry.is_live then
    return build_live(agrees and 0 or take_version(queue, state), 0, entry)
  elseif agrees then
    return { 'ended', 0 }
  elseif is_in_line() then
    -- The entry timed out, and `promote` did not remove it yet.
    entry.v = take_version(queue, state)
  end
  return build_end_to_write(0, entry)
end

raise_last_order(record.visit)
local removed = entry.is_live and 1 or 0
if not is_in_line() and is_live(record) then
  -- The totals count each visit when it begins and when it ends. They lack a visit that Redis lost, and they have as
  -- ended a visit that goes on. Every path below stores the line fields.
  if entry.visit == record.visit then
    redis.call('HINCRBY', state, 'returned', 1)
  else
    queue.line.entered = queue.line.entered + 1
  end
end
if has_run_out(record) then
  remove_from_set()
  redis.call('HINCRBY', state, 'expired', 1)
  durations.count_stay(tally, state, began_at_ms, record.step_ms)
  record.how, record.at_ms, record.epoch, record.v = 'expired', queue.now_ms, queue.epoch, take_version(queue, state)
  store_end(keys, id, record)
  return build_end_to_write(removed, record)
elseif is_live(record) then
  return put_entry(record, record.place, false)
end
remove_from_set()
if is_in_line() then
  redis.call('HINCRBY', state, TOTALS[record.how] or 'completed', 1)
  durations.count_stay(tally, state, began_at_ms, record.at_ms)
end
take_version(queue, state)
store_settled_end()
return { 'ended', removed }
