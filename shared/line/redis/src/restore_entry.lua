#!lua flags=allow-oom
-- Puts an entry back that the line lost and the backup has, where it was: or says why not. Two callers come to the same.
-- What stands nowhere is sought first: the record that counts is one that was read after that, so that no visit that
-- began and ended in between is taken for one that was lost. See docs/decisions/partial-loss.md.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- include: clock scores claim_clock queue end put
-- KEYS: waiting ready active ended sought config state
-- ARGV: given_us witness_ms id generation epoch v was visit score end_ms mark instead
-- Output: {'no-queue'}
--         {'refused'}, the record is of another line than this one
--         {'here', state, score or visit, position or deadline_ms, now_ms}
--         {'ended'}
--         {'sought', mark}
--         {'expired', epoch, v, visit, now_ms}
--         {'back', epoch, v, state, score or visit, position or deadline_ms, now_ms}
local waiting, ready, active, ended, sought = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local config, state = KEYS[6], KEYS[7]
local given_us, witness_ms, id, generation = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local epoch, v = tonumber(ARGV[5]), tonumber(ARGV[6])
local was, visit, score, end_ms = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local mark, instead = ARGV[11], tonumber(ARGV[12])

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
if tonumber(redis.call('HGET', config, 'generation')) ~= generation or queue.epoch < epoch then
  return { 'refused' }
end
local at = standing(queue, waiting, ready, active, ended, id)
if at.visit and (at.visit ~= instead or at.visit == visit) then
  return { 'here', unpack(reply_standing(queue, waiting, id, at)) }
end

-- Over: timed out and not dropped yet, or this visit ended after what the record shows. An end before that, or of another
-- visit, is of an earlier one.
local due = not at.visit and (redis.call('ZSCORE', ready, id) or redis.call('ZSCORE', active, id))
local ended_epoch, ended_v, ended_visit = string.match(redis.call('HGET', ended, id) or '', '^(%d+) (%d+) (%d+)')
local over = ended_v and tonumber(ended_visit) == visit
  and (tonumber(ended_epoch) > epoch or (tonumber(ended_epoch) == epoch and tonumber(ended_v) >= v))
if due or over or (instead and not at.visit) then
  return { 'ended' }
end

if not instead then
  local marked = redis.call('HGET', sought, id)
  if not marked then
    marked = string.format('%.0f', take_version(queue, state))
    redis.call('HSET', sought, id, marked)
    redis.call('EXPIRE', sought, 600)
  end
  if marked ~= mark then
    return { 'sought', marked }
  end
  -- Whatever visit it was: it came and went since, and the record may be older than that. An end of an epoch before did not.
  if ended_v and tonumber(ended_epoch) == queue.epoch and tonumber(ended_v) > tonumber(marked) then
    return { 'ended' }
  end
  redis.call('HDEL', sought, id)
end

-- Whatever the lost history did has a lower version, and whoever comes later a later place.
queue.v = math.max(queue.v, v)
if was == 'active' and end_ms <= queue.now_ms then
  v = take_version(queue, state)
  redis.call('HSET', ended, id, end_text(queue.epoch, v, visit, 'expired', queue.now_ms))
  redis.call('HINCRBY', state, 'expired', 1)
  return { 'expired', queue.epoch, v, visit, queue.now_ms }
end
v = take_version(queue, state)
if score then
  local last_order = tonumber(redis.call('HGET', state, 'last_order'))
  redis.call('HSET', state, 'last_order', math.max(last_order, score % 562949953421312))
end
if at.visit then
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', ready, id)
  redis.call('ZREM', active, id)
else
  -- The count of who entered was lost with the place.
  redis.call('HINCRBY', state, 'entered', 1)
end
at = { state = was, visit = visit, score = score, deadline_ms = end_ms }
put(queue, { waiting = waiting, ready = ready, active = active }, config, state, id, at)
return { 'back', queue.epoch, v, unpack(reply_standing(queue, waiting, id, at)) }
