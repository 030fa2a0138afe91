#!lua flags=allow-oom
-- Counts held polls out: at most 1,000 of them.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- KEYS: holds
-- ARGV: ...
-- ...:  the entries that they waited for
-- Output: {'released', how many}
local holds = KEYS[1]

return { 'released', redis.call('ZREM', holds, unpack(ARGV)) }
