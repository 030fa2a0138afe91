#!lua flags=allow-oom
-- Makes one entry agree with the backup, where it still stands as it was seen: it becomes what the backup knows further
-- along, or over; else it stays, and is said once more. See docs/decisions/consistency-check.md.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- include: clock scores claim_clock queue end put
-- KEYS: waiting ready active ended config state
-- ARGV: given_us witness_ms id generation stands seen epoch v becomes visit end_ms
-- Output: {'no-queue'}
--         {'refused'}, the record is of another line than this one
--         {'moved'}
--         {'ended', epoch, v, 'completed' | 'left' | 'no-show' | 'expired', visit, now_ms}
--         {'here', epoch, v, 1 where it became another or 0, state, score or visit, position or deadline_ms, now_ms}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, witness_ms, id, generation = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local stands, seen, epoch, v = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local becomes, visit, end_ms = ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11])

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
if tonumber(redis.call('HGET', config, 'generation')) ~= generation or queue.epoch < epoch then
  return { 'refused' }
end
-- One whose deadline has come stands nowhere: the next promotion drops it.
local sets = { waiting = waiting, ready = ready, active = active }
local at = standing(queue, waiting, ready, active, ended, id)
local score = at.state == stands and tonumber(redis.call('ZSCORE', sets[stands], id))
-- Callers know the deadline of a ready one as the wall has it.
local on_wall = score and stands == 'ready' and deadline_score(at.deadline_ms, at.visit)
if not score or (score ~= seen and on_wall ~= seen) then
  return { 'moved' }
end

-- Whatever the backup has, has a lower version.
queue.v = math.max(queue.v, v)
v = take_version(queue, state)
if becomes == 'active' and end_ms <= queue.now_ms then
  becomes = 'expired'
end
if becomes == '' then
  return { 'here', queue.epoch, v, 0, unpack(reply_standing(queue, waiting, id, at)) }
end
redis.call('ZREM', sets[stands], id)
if becomes == 'ready' or becomes == 'active' then
  at = { state = becomes, visit = visit, deadline_ms = end_ms }
  put(queue, sets, config, state, id, at)
  return { 'here', queue.epoch, v, 1, unpack(reply_standing(queue, waiting, id, at)) }
end
redis.call('HINCRBY', state, becomes == 'no-show' and 'no_shows' or becomes, 1)
redis.call('HSET', ended, id, end_text(queue.epoch, v, visit, becomes, queue.now_ms))
return { 'ended', queue.epoch, v, becomes, visit, queue.now_ms }
