#!lua flags=allow-oom
-- Adds a change that the backup did not take to the journal.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- KEYS: config journal
-- ARGV: ...
-- ...:  field value field value …, as journal.rs writes and reads them
-- Output: {'no-queue'}
--         {'recorded', key}
local config, journal = KEYS[1], KEYS[2]

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
return { 'recorded', redis.call('XADD', journal, '*', unpack(ARGV)) }
