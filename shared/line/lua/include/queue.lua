-- Finds and changes one entry of a queue. `keys` holds the keys of the queue by name. An entry is a table:
--   is_live: whether the entry is in the line
--   state: 'waiting', 'ready' or 'active' if it is live, else 'ended' or 'unknown'
--   visit, step, step_ms, is_over: what is known of it, as in domain/fact.rs; nil if it is unknown
--   set: the name of the sorted set that holds it. An entry that timed out has one until `promote` removes it, and so has
--     one whose slot is held.
--   place: its place, if it waits
--   is_fast_tracked: whether it is only known to be admitted by the fast track: see visits.lua
--   began_at_ms: the line time at which its session began, if it is active or its session ran out, and if that is known
--   epoch, v, how, at_ms: if it ended, the version, the way and the time of its end

-- Reads what every script about one entry needs of its queue. Returns nil if Redis does not have the queue. `latest_ms`
-- is the later one of the server's clock and the caller's.
local function read_queue(config, state, given_us, witness_ms)
  local epoch, paused, session_ms = unpack(redis.call('HMGET', config, 'epoch', 'paused', 'session_ms'))
  local packed, paused_at_ms, paused_ms = unpack(redis.call('HMGET', state, 'line', 'paused_at_ms', 'paused_ms'))
  -- As `hashes.open` would return it, without its tables: each request about an entry comes here.
  local line = read_line_fields({ values = { line = packed } })
  if not epoch or not line then
    return nil
  end
  local us, clocks_apart, ahead_ms = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
  local now_ms = math.floor(us / 1000)
  return {
    epoch = tonumber(epoch),
    session_ms = tonumber(session_ms),
    us = us,
    now_ms = now_ms,
    clocks_apart = clocks_apart,
    latest_ms = witness_ms + math.max(ahead_ms, 0),
    line = line,
    claim_clock_ms = compute_claim_clock_ms(now_ms, paused, tonumber(paused_at_ms), tonumber(paused_ms)),
  }
end

-- Gives a change of one entry the queue's next version, stores it and returns it.
local function take_version(queue, state)
  queue.line.v = next_version(queue.us, queue.line.v)
  write_line_fields(state, queue.line)
  return queue.line.v
end

-- Describes an entry from its score in `set`. Returns nil if the set does not hold it. The deadline of a ready entry is
-- by the claim clock in the set, and by line time in the table that this returns.
local function describe_entry(queue, visit, step, set, is_fast_tracked, score, at_ms)
  score = score and tonumber(score)
  if not score then
    return nil
  end
  if set == 'waiting' then
    return { is_live = true, state = set, set = set, visit = visit or score % ORDER_RANGE, step = step,
      step_ms = at_ms or 0, is_over = false, place = score }
  end
  local clock_ms = set == 'ready' and queue.claim_clock_ms or queue.now_ms
  local entry = { is_live = score > clock_ms, state = set, set = set, visit = visit, step = step,
    step_ms = score + queue.now_ms - clock_ms, is_over = score <= clock_ms, is_fast_tracked = is_fast_tracked,
    began_at_ms = set == 'active' and at_ms or nil }
  if entry.is_over then
    -- The next `promote` removes the entry and gives its end a version. Nothing was written yet.
    entry.state, entry.epoch, entry.v, entry.at_ms = 'ended', queue.epoch, queue.line.v, queue.now_ms
    entry.how = set == 'ready' and 'no-show' or 'expired'
  end
  return entry
end

-- Describes an entry that no set holds, from what `ended` stores of it.
local function describe_missing(end_text)
  return end_text and parse_end(end_text) or { state = 'unknown' }
end

-- Describes an entry whose slot is held. A script without the key `held` learns only what `ended` has of it. An end of an
-- earlier visit or step counts for nothing: the line had lost the rest, and a restore brought it back.
local function describe_held(queue, keys, id, visit, how, end_text)
  local entry = describe_missing(end_text)
  if entry.visit and (entry.visit < visit or (entry.visit == visit and entry.step < 5)) then
    entry = { state = 'unknown' }
  end
  local free_at_ms = keys.held and tonumber(redis.call('ZSCORE', keys.held, id))
  if free_at_ms and entry.state == 'unknown' then
    entry = { state = 'ended', visit = visit, step = 5, step_ms = free_at_ms, is_over = false, epoch = queue.epoch,
      v = queue.line.v, how = how, at_ms = queue.now_ms }
  end
  entry.set = free_at_ms and 'held' or nil
  return entry
end

local function find_entry(queue, keys, id)
  local visit, step, set, is_fast_tracked, how, at_ms = parse_visit(redis.call('HGET', keys.visits, id))
  if set == 'held' then
    return describe_held(queue, keys, id, visit, how, redis.call('HGET', keys.ended, id))
  end
  return describe_entry(queue, visit, step, set, is_fast_tracked, redis.call('ZSCORE', keys[set], id), at_ms)
    or describe_missing(redis.call('HGET', keys.ended, id))
end

-- Builds the part of a reply that says where a live entry is: {'waiting', place, position, now_ms}, or
-- {'ready' | 'active', visit, deadline_ms, now_ms}.
local function build_status(queue, keys, id, entry)
  if entry.state == 'waiting' then
    return { 'waiting', describe_place(entry.place, entry.visit), redis.call('ZRANK', keys.waiting, id) + 1, queue.now_ms }
  end
  return { entry.state, entry.visit, entry.step_ms, queue.now_ms }
end

-- Builds the reply that says what is known of an entry that is not live.
local function build_gone(queue, entry)
  if entry.state == 'unknown' then
    return { 'gone', 'unknown', queue.now_ms }
  end
  return { 'gone', 'ended', entry.epoch, entry.v, entry.visit, entry.step, entry.step_ms, entry.how, entry.at_ms }
end

-- Finds an entry that waits. If it does not, returns nil, and the reply that says what it does instead.
local function find_waiting_entry(queue, keys, id)
  local entry = find_entry(queue, keys, id)
  if not entry.is_live then
    return nil, build_gone(queue, entry)
  elseif entry.state ~= 'waiting' then
    return nil, { 'not-waiting', unpack(build_status(queue, keys, id, entry)) }
  end
  return entry
end

-- Whether the caller expects another visit than the entry has. An empty `expected_visit` accepts any.
local function is_other_visit(expected_visit, entry)
  return expected_visit ~= '' and tonumber(expected_visit) ~= entry.visit
end

-- Makes an entry active until `end_ms`, or moves the end of its session, which began at `entry.began_at_ms`. The caller has
-- removed it from any other set.
local function put_active(keys, id, entry, end_ms)
  entry.is_fast_tracked = false
  entry.is_live, entry.state, entry.set, entry.step, entry.step_ms = true, 'active', 'active', 4, end_ms
  redis.call('ZADD', keys.active, string.format('%.0f', end_ms), id)
  redis.call('HSET', keys.visits, id,
    string.format(entry.began_at_ms and '%.0f 4 %.0f' or '%.0f 4', entry.visit, entry.began_at_ms))
end

-- Stores the visit and the step of an entry that waits or is ready, unless its place tells them.
local function store_step(keys, id, entry)
  if entry.state == 'waiting' and entry.step_ms > 0 then
    redis.call('HSET', keys.visits, id, string.format('%.0f %.0f %.0f', entry.visit, entry.step, entry.step_ms))
  elseif entry.step > 0 or is_drawn(entry.place) then
    redis.call('HSET', keys.visits, id, string.format('%.0f %.0f', entry.visit, entry.step))
  end
end

-- Holds the slot of a visit that ended, until `free_at_ms` by line time. The caller has stored the end.
local function hold_slot(keys, id, visit, how, free_at_ms)
  redis.call('ZADD', keys.held, string.format('%.0f', free_at_ms), id)
  redis.call('HSET', keys.visits, id, string.format('%.0f 5 %s', visit, how))
end
