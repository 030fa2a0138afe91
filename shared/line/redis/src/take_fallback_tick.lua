#!lua flags=allow-oom
-- Gives a tick of a queue to whoever asks first, where its promoter is away: one each `every_ms`, however many ask. A caller
-- whose clock and the server's are apart would promote nobody, so it gets none.
-- It writes a number over a number, so it runs also where the server's memory is full.
-- include: clock
-- KEYS: config state
-- ARGV: given_us witness_ms away_after_ms every_ms
-- Output: {'no-queue'}
--         {'early'}
--         {'due'}
local config, state = KEYS[1], KEYS[2]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])
local away_after_ms, every_ms = tonumber(ARGV[3]), tonumber(ARGV[4])

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local s = redis.call('HMGET', state, 'v', 'heartbeat_ms', 'offset_ms', 'driven_at_ms')
local us, apart = line_time(given_us, witness_ms, s[3], tonumber(s[1]), s[2])
local now_ms, beat_ms = math.floor(us / 1000), tonumber(s[2])
-- As domain/driver.rs has it.
local is_away = beat_ms == 0 or now_ms - beat_ms >= away_after_ms
-- A clock that was set back keeps nobody from driving.
local passed_ms = now_ms - tonumber(s[4] or 0)
if apart or not is_away or (passed_ms >= 0 and passed_ms < every_ms) then
  return { 'early' }
end
redis.call('HSET', state, 'driven_at_ms', now_ms)
return { 'due' }
