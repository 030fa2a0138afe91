#!lua
-- Adds a chunk of entries to a set that a restore is preparing. It goes by itself where the restore dies.
-- KEYS: staged
-- ARGV: ttl_seconds ...
-- ...:  score member score member …
-- Output: {'staged', entries in the set}
local staged = KEYS[1]
local ttl_seconds = ARGV[1]

local additions = {}
for i = 2, #ARGV do
  additions[i - 1] = ARGV[i]
end
redis.call('ZADD', staged, unpack(additions))
redis.call('EXPIRE', staged, ttl_seconds)
return { 'staged', redis.call('ZCARD', staged) }
