#!lua flags=allow-oom
-- Adds a change that the backup did not take to the journal, where that may hold one more.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- KEYS: config journal
-- ARGV: journal_max ...
-- ...:  field value field value …, as journal.rs writes and reads them
-- Output: {'no-queue'}
--         {'recorded', key}
--         {'full'}
local config, journal = KEYS[1], KEYS[2]
local journal_max = tonumber(ARGV[1])

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
if redis.call('XLEN', journal) >= journal_max then
  return { 'full' }
end
return { 'recorded', redis.call('XADD', journal, '*', unpack(ARGV, 2)) }
