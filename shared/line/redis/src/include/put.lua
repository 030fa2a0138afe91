-- Puts an entry where the backup has it: at its place, or until the end of its session. A ready one gets the time to claim
-- anew, since whoever was called could not answer. `sets` are waiting, ready and active, by name.
local function put(queue, sets, config, state, id, at)
  if at.state == 'waiting' then
    redis.call('ZADD', sets.waiting, string.format('%.0f', at.score), id)
  elseif at.state == 'ready' then
    local s = redis.call('HMGET', state, 'claim_floor_ms', 'claim_floor_until_ms')
    local claim_ms = tonumber(redis.call('HGET', config, 'claim_ms'))
    if queue.now_ms < tonumber(s[2]) then
      claim_ms = math.max(claim_ms, tonumber(s[1]))
    end
    at.deadline_ms = queue.now_ms + claim_ms
    redis.call('ZADD', sets.ready, deadline_score(queue.claim_clock_ms + claim_ms, at.visit), id)
  else
    redis.call('ZADD', sets.active, deadline_score(at.deadline_ms, at.visit), id)
  end
end
