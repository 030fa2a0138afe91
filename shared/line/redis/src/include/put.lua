-- Writes an entry into the set of its state, as the backup has it: a waiting entry at its place, an active one until
-- its session ends. A ready entry gets the whole claim time again, because its visitor could not claim while Redis did
-- not have the entry. `sets` holds the keys of waiting, ready and active by name. Sets `entry.deadline_ms` of a ready
-- entry.
local function put_entry(queue, sets, config, state, id, entry)
  if entry.state == 'waiting' then
    redis.call('ZADD', sets.waiting, string.format('%.0f', entry.score), id)
  elseif entry.state == 'ready' then
    local claim_floor_ms, claim_floor_until_ms =
      unpack(redis.call('HMGET', state, 'claim_floor_ms', 'claim_floor_until_ms'))
    local claim_ms = tonumber(redis.call('HGET', config, 'claim_ms'))
    if queue.now_ms < tonumber(claim_floor_until_ms) then
      claim_ms = math.max(claim_ms, tonumber(claim_floor_ms))
    end
    entry.deadline_ms = queue.now_ms + claim_ms
    redis.call('ZADD', sets.ready, encode_deadline(queue.claim_clock_ms + claim_ms, entry.visit), id)
  else
    redis.call('ZADD', sets.active, encode_deadline(entry.deadline_ms, entry.visit), id)
  end
end
