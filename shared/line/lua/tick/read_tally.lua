#!lua flags=no-writes
-- Returns the tally of a queue.
-- include: hashes line line_table clock tally_reply
-- KEYS: config state tally
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   tally: hash, the waits, the stays and the peak since the generation began, and the totals before the queue was restored
-- ARGV: given_us witness_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
-- Output: {'no-queue'}: Redis does not have the queue
--         {'tally', now_ms, epoch, generation, salt, v, totals, fields}:
--           epoch, generation, salt, v: of the queue
--           totals: since Redis created or restored the queue, as name value name value …
--           fields: those of the hash `tally`: see include/tally.lua
local config, state, tally = KEYS[1], KEYS[2], KEYS[3]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])

local line = read_line_fields(state)
if not line or redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
local us = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
return describe_tally(config, state, tally, line, math.floor(us / 1000))
