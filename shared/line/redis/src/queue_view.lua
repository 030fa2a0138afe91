#!lua flags=no-writes
-- Says how a queue stands.
-- include: clock scores
-- KEYS: waiting ready active ended config state journal aside load
-- ARGV: given_us witness_ms
-- Output: {'no-queue'}
--         {'view', now_ms, in line, ready, active, ended, journal records, records set aside,
--          fields of config, fields of state, fields of load, 1 where the clocks are apart or 0,
--          how far the server's is ahead in ms, in how many ms the sessions of the active end: the first, those at each
--          twentieth of the way, and the last}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local journal, aside, load = KEYS[7], KEYS[8], KEYS[9]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])

local fields = redis.call('HGETALL', config)
if #fields == 0 then
  return { 'no-queue' }
end
local s = redis.call('HMGET', state, 'v', 'heartbeat_ms', 'offset_ms')
local us, apart, ahead_ms = line_time(given_us, witness_ms, s[3], tonumber(s[1]), s[2])
-- By rank, so that one long session among many short ones hides nothing.
local count, ends = redis.call('ZCARD', active), {}
for parts = 0, count > 0 and 20 or -1 do
  local rank = math.floor((count - 1) * parts / 20)
  local found = redis.call('ZRANGE', active, rank, rank, 'WITHSCORES')
  ends[parts + 1] = math.max(deadline_of(tonumber(found[2])) - math.floor(us / 1000), 0)
end
return { 'view', math.floor(us / 1000), redis.call('ZCARD', waiting), redis.call('ZCARD', ready), count,
  redis.call('HLEN', ended), redis.call('XLEN', journal), redis.call('XLEN', aside), fields, redis.call('HGETALL', state),
  redis.call('HGETALL', load), apart and 1 or 0, ahead_ms, ends }
