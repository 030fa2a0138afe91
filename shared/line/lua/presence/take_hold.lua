#!lua flags=allow-oom
-- Counts one more held poll of a deployment, if fewer than the limit are held. The count of a poll ends with its lease
-- at the latest, since the process that held the poll may have died without releasing it.
-- include: hashes line line_table clock
-- KEYS: holds
--   holds: sorted set, entry -> end of the lease of its held poll, in Unix milliseconds; one per deployment. For a poll in a
--     line of unknown speed, UNKNOWN_SPEED is added
-- ARGV: given_us id held_limit lease_ms max_lease_ms unknown_speed_limit
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   id: the entry
--   held_limit: the poll is counted only if fewer polls than this are held
--   lease_ms: how long the poll counts unless it is released, in milliseconds
--   max_lease_ms: no lease is longer than this, in milliseconds
--   unknown_speed_limit: empty if the speed of the line is known. Otherwise the poll is counted only if fewer polls of such
--     lines than this are held
-- Output: {'counted', held}: the poll is counted; this many polls are held now
--         {'full'}: the limit is reached, so the poll must not be held
--         {'already-held'}: another poll of this entry is held
local holds = KEYS[1]
local given_us, id, held_limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local lease_ms, max_lease_ms, unknown_speed_limit = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

local SHORTENED_MAX = 1000 -- one call shortens this many leases at most
local UNKNOWN_SPEED = 2 ^ 52 -- far later than any lease ends

local function format_ms(ms)
  return string.format('%.0f', ms)
end

local now_ms = math.floor(read_server_time_us(given_us) / 1000)
local kinds = { 0, UNKNOWN_SPEED }
for _, kind in ipairs(kinds) do
  redis.call('ZREMRANGEBYSCORE', holds, format_ms(kind), format_ms(kind + now_ms))
end
local held = redis.call('ZCARD', holds)
local is_full = held >= held_limit
if unknown_speed_limit and not is_full then
  is_full = redis.call('ZCOUNT', holds, format_ms(UNKNOWN_SPEED), '+inf') >= unknown_speed_limit
end
if is_full then
  -- A lease is longer than the maximum only if the clock was set back since it began. Shorten it: otherwise polls that
  -- ended would count until the clock catches up.
  for _, kind in ipairs(kinds) do
    local latest_end_ms = kind + now_ms + max_lease_ms
    local too_long = redis.call('ZRANGEBYSCORE', holds, '(' .. format_ms(latest_end_ms),
      format_ms(kind + UNKNOWN_SPEED - 1), 'LIMIT', 0, SHORTENED_MAX)
    for _, other_id in ipairs(too_long) do
      redis.call('ZADD', holds, format_ms(latest_end_ms), other_id)
    end
  end
  return { 'full' }
end
local kind = unknown_speed_limit and UNKNOWN_SPEED or 0
local lease_end_ms = kind + now_ms + math.min(lease_ms, max_lease_ms)
if redis.call('ZADD', holds, 'NX', format_ms(lease_end_ms), id) == 0 then
  return { 'already-held' }
end
redis.call('PEXPIRE', holds, max_lease_ms)
return { 'counted', held + 1 }
