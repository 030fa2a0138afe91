#!lua flags=allow-oom
-- Removes the promoter's heartbeat, so that the next request runs a fallback tick. It does so only if the queue is
-- empty and the journal has nothing to flush: then the promoter can stop early.
-- allow-oom: this script only overwrites a number, which takes no more memory, so it may run at maxmemory.
-- include: hashes line line_table
-- KEYS: waiting ready active config state journal deferred
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   journal: stream, changes that the backup does not have yet
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
-- Output: {'no-queue'}: Redis does not have the queue
--         {'busy'}: the queue or the journal is not empty, so nothing changed
--         {'parked'}: the heartbeat is removed
local waiting, ready, active, config, state, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local deferred = KEYS[7]

local line = read_line_fields(state)
if not line or redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
-- Redis deletes a sorted set with its last entry. It keeps a stream without records, so that needs XLEN.
if redis.call('EXISTS', waiting, ready, active, deferred) > 0 or redis.call('XLEN', journal) > 0 then
  return { 'busy' }
end
line.heartbeat_ms = 0
write_line_fields(state, line)
return { 'parked' }
