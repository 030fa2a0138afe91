#!lua
-- Counts one more held poll of a deployment in, where fewer are held than may be. One that nobody released, since its
-- process died, is forgotten when its lease is over.
-- include: clock
-- KEYS: holds
-- ARGV: given_us id below lease_ms lease_ms_max
-- Output: {'counted', polls held}
--         {'full'}
--         {'already-held'}, a poll of this entry
local holds = KEYS[1]
local given_us, id, below, lease_ms, lease_ms_max = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

local now_ms = math.floor(server_time_us(given_us) / 1000)
redis.call('ZREMRANGEBYSCORE', holds, '-inf', now_ms)
local held = redis.call('ZCARD', holds)
if held >= below then
  -- No lease is longer than the longest, unless the clock was set back since: nothing may be counted for an hour.
  local latest_ms = now_ms + lease_ms_max
  local late = redis.call('ZRANGEBYSCORE', holds, string.format('(%.0f', latest_ms), '+inf', 'LIMIT', 0, 1000)
  for _, other in ipairs(late) do
    redis.call('ZADD', holds, latest_ms, other)
  end
  return { 'full' }
end
if redis.call('ZADD', holds, 'NX', now_ms + math.min(lease_ms, lease_ms_max), id) == 0 then
  return { 'already-held' }
end
redis.call('PEXPIRE', holds, lease_ms_max)
return { 'counted', held + 1 }
