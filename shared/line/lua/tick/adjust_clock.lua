#!lua flags=allow-oom
-- Sets the offset that is added to the server's clock, if two of three clocks agree on it: see domain/clock.rs.
-- allow-oom: this script only overwrites numbers, which takes no more memory, so it may run at maxmemory.
-- include: hashes line line_table clock
-- KEYS: config state
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms new_offset_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   new_offset_ms: the offset that the caller proposes, in milliseconds; negative if the server's clock is ahead
-- Output: {'no-queue'}: Redis does not have the queue
--         {'adjusted'}: the offset is stored
--         {'agree'}: the server's clock and the caller's agree, so nothing changed
--         {'doubtful'}: no second clock agrees, or the clocks moved since the caller read them, so nothing changed
local config, state = KEYS[1], KEYS[2]
local given_us, witness_ms, new_offset_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local APART_MS = 5000 -- clocks that differ by less agree: CLOCK_DIFFERENCE_MAX_MS in domain/clock.rs
local NOISE_MS = 1000 -- a smaller difference comes from measuring: CLOCK_NOISE_MS in domain/clock.rs
local RECENT_MS = 60000 -- the last line time is evidence for this long: LAST_TIME_AGE_MAX_MS in domain/clock.rs

local line = read_line_fields(state)
if not line or redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local _, _, ahead_ms = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
if math.abs(ahead_ms) <= APART_MS then
  return { 'agree' }
end
local measured_offset_ms = line.offset_ms - ahead_ms
if math.abs(new_offset_ms - measured_offset_ms) > NOISE_MS then
  return { 'doubtful' }
end

-- The caller's clock is the first that speaks against the server's. The second is the last line time or another
-- caller's clock, which `enter` stored in `testified_ms`.
local last_ms = math.max(math.floor(line.v / 1000), line.heartbeat_ms)
local is_recent = last_ms <= witness_ms + APART_MS and last_ms + RECENT_MS >= witness_ms
local line_agrees = is_recent and (ahead_ms > 0 or last_ms > witness_ms + ahead_ms)
local testified_ms = tonumber(redis.call('HGET', state, 'testified_ms'))
local other_caller_agrees = testified_ms and math.abs(testified_ms - measured_offset_ms) <= APART_MS
if not line_agrees and not other_caller_agrees then
  return { 'doubtful' }
end
line.offset_ms = new_offset_ms
write_line_fields(state, line)
redis.call('HDEL', state, 'testified_ms')
return { 'adjusted' }
