#!lua flags=allow-oom
-- Gives the caller the consistency check of a queue if one is due, and says at which shard it begins. Only one caller
-- gets it.
-- allow-oom: this script only overwrites numbers, which takes no more memory, so it may run at maxmemory.
-- include: hashes line line_table clock fields imbalance
-- KEYS: waiting ready active config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms interval_ms idle_interval_ms loss_interval_ms takeover_after_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   interval_ms: the time from the end of one check to the next, in milliseconds
--   idle_interval_ms: the same for a queue in which nothing changed since the last check began, in milliseconds
--   loss_interval_ms: the least time between the starts of two checks that are due for a loss, in milliseconds
--   takeover_after_ms: a check that reported no progress for this long goes to the next caller, in milliseconds
-- Output: {'no-queue'}: Redis does not have the queue
--         {'early', due_in_ms}: no check is due, or another caller runs one; ask again in due_in_ms
--         {'due', shards}: the check is the caller's; an earlier caller has finished this many shards of it
local waiting, ready, active, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local given_us, witness_ms, interval_ms, idle_interval_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local loss_interval_ms, takeover_after_ms = tonumber(ARGV[5]), tonumber(ARGV[6])

local line = read_line_fields(state)
if not line or redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local stored = read_numbers(state, { 'checked_at_ms', 'checked_v', 'check_heard_ms', 'check_shards', 'check_due_ms',
  'loss_check_began_ms' })
local us = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)

-- Returns how much of `wait_ms` is left since a moment. Nothing is left if the clock was set back behind the moment: a
-- check must not wait until the clock catches up.
local function compute_time_left_ms(since_ms, wait_ms)
  local passed_ms = now_ms - (since_ms or 0)
  return passed_ms >= 0 and math.max(wait_ms - passed_ms, 0) or 0
end

local last_progress_ms = stored.check_heard_ms or 0
if last_progress_ms > 0 then
  -- A check is under way. Its caller may have died, so the check is taken over after a silence.
  local left_ms = compute_time_left_ms(last_progress_ms, takeover_after_ms)
  if left_ms > 0 then
    return { 'early', left_ms }
  end
else
  local wait_ms = line.v == stored.checked_v and idle_interval_ms or interval_ms
  local left_ms = math.min(compute_time_left_ms(stored.checked_at_ms, wait_ms), interval_ms)
  local is_loss_known = (stored.check_due_ms or 0) > 0
  if is_loss_known then
    left_ms = math.min(left_ms, compute_time_left_ms(stored.loss_check_began_ms, loss_interval_ms))
  end
  if left_ms > 0 then
    return { 'early', left_ms }
  end
  if is_loss_known then
    -- A loss that is noticed from now on sets another check due.
    redis.call('HSET', state, 'check_due_ms', 0, 'loss_check_began_ms', now_ms)
  end
  local entries = redis.call('ZCARD', waiting) + redis.call('ZCARD', ready) + redis.call('ZCARD', active)
  redis.call('HSET', state, 'check_v', line.v, 'checked_imbalance', compute_imbalance(entries, state, line))
end
redis.call('HSET', state, 'check_heard_ms', now_ms)
return { 'due', stored.check_shards or 0 }
