#!lua flags=allow-oom
-- Says whether an entry may act now; claims a ready one or completes an active one where asked, or makes its session
-- longer, never shorter. One that was let in before the line was lost, and stands in line again, is let in until the end
-- of its pass.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- include: clock scores claim_clock queue end
-- KEYS: waiting ready active ended config state
-- ARGV: given_us witness_ms id visit claims consumes pass_end_ms extend_ms latest_end_ms
-- Output: {'no-queue'}
--         {'active', epoch, v or 0 where nothing changed, 'none' | 'claimed' | 'completed' | 'extended',
--          state, visit, session_end_ms, now_ms}
--         {'not-yet', state, score or visit, position or deadline_ms, now_ms}
--         {'other-visit'}
--         {'gone', 'ended' | 'unknown'}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, witness_ms, id, visit, claims = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local consumes, pass_end_ms, extend_ms, latest_end_ms = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local at = standing(queue, waiting, ready, active, ended, id)
if not at.visit then
  return { 'gone', at.state }
end
if is_other_visit(visit, at) then
  return { 'other-visit' }
end
local not_yet = at.state == 'waiting' or (at.state == 'ready' and claims ~= '1')
local was_let_in = not_yet and pass_end_ms and pass_end_ms > queue.now_ms
if not_yet and not was_let_in then
  return { 'not-yet', unpack(reply_standing(queue, waiting, id, at)) }
end

local change, v = 'none', 0
if was_let_in then
  redis.call('ZREM', at.state == 'waiting' and waiting or ready, id)
  redis.call('HINCRBY', state, 'claimed', 1)
  at.state, at.deadline_ms = 'active', pass_end_ms
  redis.call('ZADD', active, deadline_score(pass_end_ms, at.visit), id)
  change = 'claimed'
  v = take_version(queue, state)
  queue.v = v
elseif at.state == 'ready' then
  redis.call('ZREM', ready, id)
  redis.call('HINCRBY', state, 'claimed', 1)
  let_in(queue, active, id, at)
  change = 'claimed'
  v = take_version(queue, state)
  queue.v = v
end
if consumes == '1' then
  redis.call('ZREM', active, id)
  redis.call('HINCRBY', state, 'completed', 1)
  change = 'completed'
  v = take_version(queue, state)
  redis.call('HSET', ended, id, end_text(queue.epoch, v, at.visit, 'completed', queue.now_ms))
elseif extend_ms then
  at.deadline_ms = math.max(at.deadline_ms, math.min(queue.now_ms + extend_ms, latest_end_ms))
  redis.call('ZADD', active, deadline_score(at.deadline_ms, at.visit), id)
  change = 'extended'
  v = take_version(queue, state)
end
return { 'active', queue.epoch, v, change, unpack(reply_standing(queue, waiting, id, at)) }
