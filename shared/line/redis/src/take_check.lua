#!lua flags=allow-oom
-- Gives the caller the consistency check of a queue if one is due, and says at which shard it begins. Only one caller
-- gets it.
-- allow-oom: this script only overwrites numbers, which takes no more memory, so it may run at maxmemory.
-- include: clock fields
-- KEYS: config state
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms interval_ms idle_interval_ms takeover_after_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   interval_ms: the time from the end of one check to the next, in milliseconds
--   idle_interval_ms: the same for a queue in which nothing changed since the last check began, in milliseconds
--   takeover_after_ms: a check that reported no progress for this long goes to the next caller, in milliseconds
-- Output: {'no-queue'}: Redis does not have the queue
--         {'early', due_in_ms}: no check is due, or another caller runs one; ask again in due_in_ms
--         {'due', shards}: the check is the caller's; an earlier caller has finished this many shards of it
local config, state = KEYS[1], KEYS[2]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])
local interval_ms, idle_interval_ms, takeover_after_ms = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local stored = read_numbers(state, { 'v', 'checked_at_ms', 'checked_v', 'check_heard_ms', 'check_shards', 'offset_ms',
  'heartbeat_ms' })
local us = read_line_time(given_us, witness_ms, stored.offset_ms, stored.v, stored.heartbeat_ms)
local now_ms = math.floor(us / 1000)
local last_progress_ms = stored.check_heard_ms or 0
if last_progress_ms > 0 then
  -- A check is under way. Its caller may have died, so the check is taken over after a silence.
  local silence_ms = now_ms - last_progress_ms
  if silence_ms >= 0 and silence_ms < takeover_after_ms then
    return { 'early', takeover_after_ms - silence_ms }
  end
else
  -- If the clock was set back, `passed_ms` is negative and the check is due: it must not wait until the clock catches
  -- up.
  local passed_ms = now_ms - (stored.checked_at_ms or 0)
  local wait_ms = stored.v == stored.checked_v and idle_interval_ms or interval_ms
  if passed_ms >= 0 and passed_ms < wait_ms then
    return { 'early', math.min(interval_ms, wait_ms - passed_ms) }
  end
  redis.call('HSET', state, 'check_v', stored.v)
end
redis.call('HSET', state, 'check_heard_ms', now_ms)
return { 'due', stored.check_shards or 0 }
