#!lua flags=allow-oom
-- Gives the check of a queue to whoever asks first when one is due, and says where it begins.
-- It writes numbers over numbers, so it runs also where the server's memory is full.
-- include: clock
-- KEYS: config state
-- ARGV: given_us witness_ms every_ms idle_ms silent_ms
-- Output: {'no-queue'}
--         {'early', due_in_ms}
--         {'due', shards that a check has been through}
local config, state = KEYS[1], KEYS[2]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])
local every_ms, idle_ms, silent_ms = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local s = redis.call('HMGET', state, 'v', 'checked_at_ms', 'checked_v', 'check_heard_ms', 'check_shards', 'offset_ms',
  'heartbeat_ms')
local now_ms = math.floor(line_time(given_us, witness_ms, s[6], tonumber(s[1]), s[7]) / 1000)
local heard_ms = tonumber(s[4] or 0)
if heard_ms > 0 then
  -- One is under way: by somebody who was heard of, or by nobody any more.
  local silence_ms = now_ms - heard_ms
  if silence_ms >= 0 and silence_ms < silent_ms then
    return { 'early', silent_ms - silence_ms }
  end
else
  -- A clock that was set back does not keep it from coming.
  local passed_ms = now_ms - tonumber(s[2] or 0)
  local wait_ms = s[1] == s[3] and idle_ms or every_ms
  if passed_ms >= 0 and passed_ms < wait_ms then
    return { 'early', math.min(every_ms, wait_ms - passed_ms) }
  end
  redis.call('HSET', state, 'check_v', s[1])
end
redis.call('HSET', state, 'check_heard_ms', now_ms)
return { 'due', tonumber(s[5] or 0) }
