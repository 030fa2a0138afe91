-- Finds and changes one entry of a queue. An entry is a table: `state`, `visit`, `score` (its place, while it is
-- waiting) and `deadline_ms` (Unix milliseconds, while it is ready or active).

-- Reads what every script about one entry needs of its queue. Returns nil if Redis does not have the queue.
local function read_queue(config, state, given_us, witness_ms)
  local epoch, paused, session_ms = unpack(redis.call('HMGET', config, 'epoch', 'paused', 'session_ms'))
  if not epoch then
    return nil
  end
  local v, paused_at_ms, paused_ms, offset_ms, heartbeat_ms =
    unpack(redis.call('HMGET', state, 'v', 'paused_at_ms', 'paused_ms', 'offset_ms', 'heartbeat_ms'))
  v = tonumber(v)
  local us = read_line_time(given_us, witness_ms, offset_ms, v, heartbeat_ms)
  local now_ms = math.floor(us / 1000)
  return {
    epoch = tonumber(epoch),
    session_ms = tonumber(session_ms),
    us = us,
    now_ms = now_ms,
    v = v,
    claim_clock_ms = compute_claim_clock_ms(now_ms, paused, tonumber(paused_at_ms), tonumber(paused_ms)),
  }
end

-- Gives a change of one entry the queue's next version, stores it and returns it.
local function take_version(queue, state)
  local v = next_version(queue.us, queue.v)
  redis.call('HSET', state, 'v', v)
  return v
end

-- The next three functions read the score that an entry has in one of the sets. They return nil or false if it has
-- none. If its deadline has passed, its state is 'ended' and it has no visit, although the set still holds it: the next
-- `promote` removes it.
local function read_waiting(score)
  return score and { state = 'waiting', score = tonumber(score), visit = derive_visit(tonumber(score)) }
end

-- The deadline of a ready entry is by the claim clock in the set, and by line time in the table that this returns.
local function read_ready(queue, score)
  local deadline_ms = score and decode_deadline_ms(tonumber(score))
  if deadline_ms and deadline_ms <= queue.claim_clock_ms then
    return { state = 'ended' }
  end
  local line_deadline_ms = deadline_ms and deadline_ms + queue.now_ms - queue.claim_clock_ms
  return line_deadline_ms and { state = 'ready', visit = tonumber(score) % VISITS, deadline_ms = line_deadline_ms }
end

local function read_active(queue, score)
  local deadline_ms = score and decode_deadline_ms(tonumber(score))
  if deadline_ms and deadline_ms <= queue.now_ms then
    return { state = 'ended' }
  end
  return deadline_ms and { state = 'active', visit = tonumber(score) % VISITS, deadline_ms = deadline_ms }
end

-- Describes an entry that no set holds: 'ended' if `ended` still has its end, else 'unknown'.
local function describe_missing(has_end)
  return { state = has_end and 'ended' or 'unknown' }
end

-- Finds an entry. The result has no `visit` if the entry is not in the line; its state is then 'ended' or 'unknown'.
local function find_entry(queue, waiting, ready, active, ended, id)
  return read_waiting(redis.call('ZSCORE', waiting, id))
    or read_ready(queue, redis.call('ZSCORE', ready, id))
    or read_active(queue, redis.call('ZSCORE', active, id))
    or describe_missing(redis.call('HEXISTS', ended, id) == 1)
end

-- Builds the part of a reply that says where an entry is: {'waiting', score, position, now_ms}, or
-- {'ready' | 'active', visit, deadline_ms, now_ms}.
local function build_status(queue, waiting, id, entry)
  if entry.state == 'waiting' then
    return { 'waiting', entry.score, redis.call('ZRANK', waiting, id) + 1, queue.now_ms }
  end
  return { entry.state, entry.visit or 0, entry.deadline_ms or 0, queue.now_ms }
end

-- Whether the caller expects another visit than the entry has. An empty `expected_visit` accepts any.
local function is_other_visit(expected_visit, entry)
  return entry.visit ~= nil and expected_visit ~= '' and tonumber(expected_visit) ~= entry.visit
end

-- Makes an entry active for one session, beginning now.
local function start_session(queue, active, id, entry)
  entry.state = 'active'
  entry.deadline_ms = queue.now_ms + queue.session_ms
  redis.call('ZADD', active, encode_deadline(entry.deadline_ms, entry.visit), id)
end
