#!lua flags=allow-oom
-- Sets what is added to the server's clock, where two of three clocks speak for it: see domain/clock.rs.
-- It writes numbers over numbers, so it runs also where the server's memory is full.
-- include: clock
-- KEYS: config state
-- ARGV: given_us witness_ms wanted_ms
-- Output: {'no-queue'}
--         {'adjusted'}
--         {'agree'}, nothing is to be done
--         {'doubtful'}, nothing is certain enough, or the clocks moved since they were read
local config, state = KEYS[1], KEYS[2]
local given_us, witness_ms, wanted_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local s = redis.call('HMGET', state, 'v', 'heartbeat_ms', 'offset_ms', 'testified_ms')
local offset_ms, testified_ms = tonumber(s[3] or 0), tonumber(s[4] or '')
local _, apart, ahead_ms = line_time(given_us, witness_ms, offset_ms, tonumber(s[1]), tonumber(s[2]))
if not apart then
  return { 'agree' }
end
local here_ms = offset_ms - ahead_ms
if math.abs(wanted_ms - here_ms) > 1000 then
  return { 'doubtful' }
end
local last_ms = math.max(math.floor(tonumber(s[1]) / 1000), tonumber(s[2]))
local recent = last_ms <= witness_ms + 5000 and last_ms + 60000 >= witness_ms
local line_agrees = recent and (ahead_ms > 0 or last_ms > witness_ms + ahead_ms)
local other_agrees = testified_ms and math.abs(testified_ms - here_ms) <= 5000
if not line_agrees and not other_agrees then
  return { 'doubtful' }
end
redis.call('HSET', state, 'offset_ms', wanted_ms)
redis.call('HDEL', state, 'testified_ms')
return { 'adjusted' }
