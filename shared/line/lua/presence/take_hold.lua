#!lua
-- Counts one more held poll of a deployment, if fewer than the limit are held. The count of a poll ends with its lease
-- at the latest, since the process that held the poll may have died without releasing it.
-- include: hashes line line_table clock
-- KEYS: holds
--   holds: sorted set, entry -> end of the lease of its held poll, in Unix milliseconds; one per deployment
-- ARGV: given_us id held_limit lease_ms max_lease_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   id: the entry
--   held_limit: the poll is counted only if fewer polls than this are held
--   lease_ms: how long the poll counts unless it is released, in milliseconds
--   max_lease_ms: no lease is longer than this, in milliseconds
-- Output: {'counted', held}: the poll is counted; this many polls are held now
--         {'full'}: the limit is reached, so the poll must not be held
--         {'already-held'}: another poll of this entry is held
local holds = KEYS[1]
local given_us, id, held_limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local lease_ms, max_lease_ms = tonumber(ARGV[4]), tonumber(ARGV[5])

local SHORTENED_MAX = 1000 -- one call shortens this many leases at most

local now_ms = math.floor(read_server_time_us(given_us) / 1000)
redis.call('ZREMRANGEBYSCORE', holds, '-inf', now_ms)
local held = redis.call('ZCARD', holds)
if held >= held_limit then
  -- A lease is longer than the maximum only if the clock was set back since it began. Shorten it: otherwise polls that
  -- ended would count until the clock catches up.
  local latest_end_ms = now_ms + max_lease_ms
  local after_latest_end = string.format('(%.0f', latest_end_ms)
  local too_long = redis.call('ZRANGEBYSCORE', holds, after_latest_end, '+inf', 'LIMIT', 0, SHORTENED_MAX)
  for _, other_id in ipairs(too_long) do
    redis.call('ZADD', holds, latest_end_ms, other_id)
  end
  return { 'full' }
end
if redis.call('ZADD', holds, 'NX', now_ms + math.min(lease_ms, max_lease_ms), id) == 0 then
  return { 'already-held' }
end
redis.call('PEXPIRE', holds, max_lease_ms)
return { 'counted', held + 1 }
