#!lua flags=allow-oom
-- Takes the promoter's heartbeat back, so that the next call drives: where nobody is in the queue, and nothing waits for the
-- backup.
-- It writes a number over a number, so it runs also where the server's memory is full.
-- KEYS: waiting ready active config state journal
-- Output: {'no-queue'}
--         {'busy'}
--         {'resting'}
local waiting, ready, active, config, state, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
-- A set is there while somebody is in it; a stream stays when its last record goes.
if redis.call('EXISTS', waiting, ready, active) > 0 or redis.call('XLEN', journal) > 0 then
  return { 'busy' }
end
redis.call('HSET', state, 'heartbeat_ms', 0)
return { 'resting' }
