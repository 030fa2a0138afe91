#!lua flags=allow-oom
-- Gives the caller a fallback tick of a queue, if the promoter is down and no other caller got one within the interval.
-- A caller whose clock is too far from the server's gets none, because its tick would promote no entry.
-- allow-oom: this script only overwrites a number, which takes no more memory, so it may run at maxmemory.
-- include: hashes line line_table clock
-- KEYS: config state
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms promoter_timeout_ms interval_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   promoter_timeout_ms: the promoter counts as down when its heartbeat is this old, in milliseconds
--   interval_ms: the time between two fallback ticks, in milliseconds
-- Output: {'no-queue'}: Redis does not have the queue
--         {'early'}: the promoter is up, another caller got the tick, or the clocks are too far apart
--         {'due'}: the tick is the caller's
local config, state = KEYS[1], KEYS[2]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])
local promoter_timeout_ms, interval_ms = tonumber(ARGV[3]), tonumber(ARGV[4])

local line = read_line_fields(state)
if not line or redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local us, clocks_apart = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)
-- The same rule as in shared/domain/src/fallback_tick.rs.
local is_promoter_down = line.heartbeat_ms == 0 or now_ms - line.heartbeat_ms >= promoter_timeout_ms
-- If the clock was set back, `passed_ms` is negative and the tick is due: it must not wait until the clock catches up.
local passed_ms = now_ms - tonumber(redis.call('HGET', state, 'fallback_tick_at_ms') or 0)
if clocks_apart or not is_promoter_down or (passed_ms >= 0 and passed_ms < interval_ms) then
  return { 'early' }
end
redis.call('HSET', state, 'fallback_tick_at_ms', now_ms)
return { 'due' }
