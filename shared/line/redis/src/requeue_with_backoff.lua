#!lua flags=allow-oom
-- Puts what the backup did not take of a journal record in its place: what nobody tried as one record that is due at once,
-- and each change that it refused as a record that is due later. Whoever comes second changes nothing.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- include: clock
-- KEYS: journal config
-- ARGV: given_us witness_ms key tries wait_ms rest ...
-- ...:  field value field value … of the rest, as many as `rest` says, then 14 for each refused change
-- Output: {'no-queue'}
--         {'deferred'}
--         {'gone'}
local journal, config = KEYS[1], KEYS[2]
local given_us, witness_ms, key, tries = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local wait_ms, rest = tonumber(ARGV[5]), tonumber(ARGV[6])

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
if redis.call('XDEL', journal, key) == 0 then
  return { 'gone' }
end
if rest > 0 then
  redis.call('XADD', journal, '*', unpack(ARGV, 7, 6 + rest))
end
-- By the server's clock alone: line time may be far ahead of it for a while.
local retry_at_ms = math.floor(server_time_us(given_us) / 1000) + wait_ms
for i = 7 + rest, #ARGV, 14 do
  redis.call('XADD', journal, '*', 'tries', tries, 'retry_at_ms', string.format('%.0f', retry_at_ms), unpack(ARGV, i, i + 13))
end
return { 'deferred' }
