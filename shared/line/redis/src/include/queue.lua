-- What every script that deals with one entry reads first; nil where the line has no such queue.
local function read_queue(config, state, given_us, witness_ms)
  local c = redis.call('HMGET', config, 'epoch', 'paused', 'session_ms')
  if not c[1] then
    return nil
  end
  local s = redis.call('HMGET', state, 'v', 'paused_at_ms', 'paused_ms', 'offset_ms', 'heartbeat_ms')
  local us = line_time(given_us, witness_ms, s[4], tonumber(s[1]), s[5])
  local now_ms = math.floor(us / 1000)
  return {
    epoch = tonumber(c[1]),
    session_ms = tonumber(c[3]),
    us = us,
    now_ms = now_ms,
    v = tonumber(s[1]),
    claim_clock_ms = claim_clock_ms(now_ms, c[2], tonumber(s[2]), tonumber(s[3])),
  }
end

-- Takes the next version for a change of one entry.
local function take_version(queue, state)
  local v = next_version(queue.us, queue.v)
  redis.call('HSET', state, 'v', v)
  return v
end

-- What the score of an entry says in each of the sets, and nothing where it has none: its state, its visit, and for a
-- deadline its moment on the wall clock. One whose deadline has come is not there any more, though nobody dropped it yet.
local function in_line(score)
  return score and { state = 'waiting', score = tonumber(score), visit = visit_of(tonumber(score)) }
end

local function called(queue, score)
  local deadline_ms = score and deadline_of(tonumber(score))
  if deadline_ms and deadline_ms <= queue.claim_clock_ms then
    return { state = 'ended' }
  end
  local wall_ms = deadline_ms and deadline_ms + queue.now_ms - queue.claim_clock_ms
  return wall_ms and { state = 'ready', visit = tonumber(score) % 4096, deadline_ms = wall_ms }
end

local function inside(queue, score)
  local deadline_ms = score and deadline_of(tonumber(score))
  if deadline_ms and deadline_ms <= queue.now_ms then
    return { state = 'ended' }
  end
  return deadline_ms and { state = 'active', visit = tonumber(score) % 4096, deadline_ms = deadline_ms }
end

-- One that is in no set: `ended` where the backup may not have its end.
local function nowhere(has_end)
  return { state = has_end and 'ended' or 'unknown' }
end

-- Where an entry stands.
local function standing(queue, waiting, ready, active, ended, id)
  return in_line(redis.call('ZSCORE', waiting, id))
    or called(queue, redis.call('ZSCORE', ready, id))
    or inside(queue, redis.call('ZSCORE', active, id))
    or nowhere(redis.call('HEXISTS', ended, id) == 1)
end

-- The reply that says where an entry stands: {state, score or visit, position or deadline, line time}.
local function reply_standing(queue, waiting, id, at)
  if at.state == 'waiting' then
    return { 'waiting', at.score, redis.call('ZRANK', waiting, id) + 1, queue.now_ms }
  end
  return { at.state, at.visit or 0, at.deadline_ms or 0, queue.now_ms }
end

-- Whether the caller named another visit than the one that stands; an empty name is any.
local function is_other_visit(named, at)
  return at.visit ~= nil and named ~= '' and tonumber(named) ~= at.visit
end

-- Lets an entry in until its session ends.
local function let_in(queue, active, id, at)
  at.state = 'active'
  at.deadline_ms = queue.now_ms + queue.session_ms
  redis.call('ZADD', active, deadline_score(at.deadline_ms, at.visit), id)
end
