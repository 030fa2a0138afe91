#!lua flags=no-writes
-- Returns one page of the entries of a queue, or of the ends that the backup may lack. Redis guarantees that a scan
-- returns every entry that stays in its set during the scan. The page is bounded, so it does not block Redis for long.
-- include: hashes line line_table clock versions places scores claim_clock visits end queue
-- KEYS: waiting ready active held visits ended settled config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   held: sorted set, entry whose slot is held -> when the slot becomes free, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   settled: sorted set, entry -> line time since which the backup has the end in `ended`, in Unix milliseconds
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms set cursor count
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   set: 'waiting', 'ready', 'active', 'held' or 'ended'
--   cursor: 0 to begin, then the one that the page before returned
--   count: about how many entries a page has
-- Output: {'no-queue'}: Redis does not have the queue
--         {'page', cursor, pairs, marks, claim_delay_ms}:
--           cursor: where the next page begins; '0' after the last one
--           pairs: entry, score, entry, score, … or entry, end, entry, end, …
--           marks: for each entry what `visits` has of it, or for each end what `settled` has of it, or nil; empty if
--             there is nothing for any of them
--           claim_delay_ms: how far the claim clock is behind line time, in milliseconds
local waiting, ready, active, held, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local settled, config, state = KEYS[7], KEYS[8], KEYS[9]
local given_us, witness_ms, set, cursor, count = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

local IDS_PER_COMMAND = 1000 -- `unpack` is bounded, and a scan may return more than `count` entries

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local keys = { waiting = waiting, ready = ready, active = active, held = held, ended = ended }
local scan = redis.call(set == 'ended' and 'HSCAN' or 'ZSCAN', keys[set], cursor, 'COUNT', count)
local next_cursor, pairs_found = unpack(scan)

-- Of the waiting entries only those that wait again are in `visits`. Nearly always there are none.
local marks = {}
local taken = redis.call('ZCARD', ready) + redis.call('ZCARD', active) + redis.call('ZCARD', held)
if set ~= 'waiting' or redis.call('HLEN', visits) > taken then
  local ids = {}
  for i = 1, #pairs_found, 2 do
    ids[#ids + 1] = pairs_found[i]
  end
  for first = 1, #ids, IDS_PER_COMMAND do
    local last = math.min(first + IDS_PER_COMMAND - 1, #ids)
    local found = set == 'ended' and redis.call('ZMSCORE', settled, unpack(ids, first, last))
      or redis.call('HMGET', visits, unpack(ids, first, last))
    for _, mark in ipairs(found) do
      marks[#marks + 1] = mark
    end
  end
end
return { 'page', next_cursor, pairs_found, marks, queue.now_ms - queue.claim_clock_ms }
