#!lua flags=allow-oom
-- Ends the count of held polls: the opposite of take_hold.lua.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- KEYS: holds
--   holds: sorted set, entry -> end of the lease of its held poll, in Unix milliseconds; one per deployment
-- ARGV: ...
--   ...: the entries that the polls waited for, 1,000 at most, because `unpack` is bounded
-- Output: {'released', count}: this many polls were counted until now
local holds = KEYS[1]

return { 'released', redis.call('ZREM', holds, unpack(ARGV)) }
