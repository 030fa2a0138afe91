#!lua flags=allow-oom
-- Ends a visit: the visitor leaves, the protected service completes, or an operator evicts.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- include: clock scores claim_clock queue end
-- KEYS: waiting ready active ended config state
-- ARGV: given_us witness_ms id visit departure
-- Output: {'no-queue'}
--         {'ended', epoch, v, 'completed' | 'left', visit, now_ms}
--         {'other-visit'}
--         {'not-active', state, score or visit, position or deadline_ms, now_ms}
--         {'gone', 'ended' | 'unknown'}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, witness_ms, id, visit, departure = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

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
if departure == 'complete' and at.state ~= 'active' then
  return { 'not-active', unpack(reply_standing(queue, waiting, id, at)) }
end
local how = 'left'
if at.state == 'active' and departure ~= 'evict' then
  how = 'completed'
end
local set = { waiting = waiting, ready = ready, active = active }
redis.call('ZREM', set[at.state], id)
redis.call('HINCRBY', state, how, 1)
local v = take_version(queue, state)
redis.call('HSET', ended, id, end_text(queue.epoch, v, at.visit, how, queue.now_ms))
return { 'ended', queue.epoch, v, how, at.visit, queue.now_ms }
