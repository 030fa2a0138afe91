#!lua flags=allow-oom
-- Marks a waiting entry whose visitor closes the page: see domain/closing.rs. A tick ends the wait some time later, unless a
-- request of the visitor removes the mark. An entry that leaves the line before keeps its mark until then.
-- include: hashes line line_table clock versions places scores claim_clock visits end queue
-- KEYS: waiting ready active visits ended closing config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   closing: sorted set, entry -> line time at which its visitor closed the page, in Unix milliseconds
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms id expected_visit
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   expected_visit: the visit to mark; empty for any
-- Output: {'no-queue'}: Redis does not have the queue
--         {'marked'}: the entry waits and is marked
--         {'ignored'}: nothing changed: the entry does not wait or has another visit, the queue does not have
--           `leave_on_close`, or the server's clock is not trusted
local waiting, ready, active, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local closing, config, state = KEYS[6], KEYS[7], KEYS[8]
local given_us, witness_ms, id, expected_visit = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local keys = { waiting = waiting, ready = ready, active = active, visits = visits, ended = ended }
local entry = find_entry(queue, keys, id)
if entry.state ~= 'waiting' or is_other_visit(expected_visit, entry) or queue.clocks_apart
  or redis.call('HGET', config, 'leave_on_close') ~= '1' then
  return { 'ignored' }
end
redis.call('ZADD', closing, string.format('%.0f', queue.now_ms), id)
return { 'marked' }
