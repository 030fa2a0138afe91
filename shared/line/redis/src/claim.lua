#!lua flags=allow-oom
-- Makes a ready entry active. Again is harmless: the claim of an active one is said once more.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- include: clock scores claim_clock queue
-- KEYS: waiting ready active ended config state
-- ARGV: given_us witness_ms id
-- Output: {'no-queue'}
--         {'active', epoch, v, state, visit, session_end_ms, now_ms}
--         {'not-yet', 'waiting', score, position, now_ms}
--         {'gone', 'ended' | 'unknown'}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, witness_ms, id = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local at = standing(queue, waiting, ready, active, ended, id)
if not at.visit then
  return { 'gone', at.state }
end
if at.state == 'waiting' then
  return { 'not-yet', unpack(reply_standing(queue, waiting, id, at)) }
end
if at.state == 'ready' then
  redis.call('ZREM', ready, id)
  redis.call('HINCRBY', state, 'claimed', 1)
  let_in(queue, active, id, at)
end
local v = take_version(queue, state)
return { 'active', queue.epoch, v, unpack(reply_standing(queue, waiting, id, at)) }
