#!lua flags=allow-oom
-- Evicts many waiting entries for an operator. One journal record holds all of it. An entry that does not wait any more,
-- or has another visit, stays as it is.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: hashes line line_table clock versions places scores claim_clock visits end queue tally timeouts lanes presence
-- KEYS: waiting visits ended settled present seen config state journal deferred
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   settled: sorted set, entry -> line time since which the backup has the end in `ended`, in Unix milliseconds
--   present: sorted set, called entry that checked in lately -> place
--   seen: sorted set, called entry -> last check-in by the presence clock, negative if it is not present
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   journal: stream, changes that the backup does not have yet
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
-- ARGV: given_us witness_ms journal_max spares_checked_in ...
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   journal_max: the script evicts no entry when the journal has this many records
--   spares_checked_in: 1 to leave the entries whose visitors have checked in by a poll, else 0
--   ...: entry visit entry visit …; the caller sends at most 1,000 pairs, because `unpack` is bounded
-- Output: {'no-queue'}: Redis does not have the queue
--         {'journal-full'}: the journal has no room, so nothing changed
--         {'evicted', count}: this many entries were evicted
local waiting, visits, ended, settled, present = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local seen, config, state, journal, deferred = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local given_us, witness_ms, journal_max, spares_checked_in = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

local FIRST_ENTRY = 5 -- the index in ARGV at which the entries begin

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
if redis.call('XLEN', journal) + redis.call('ZCARD', deferred) >= journal_max then
  return { 'journal-full' }
end
local keys = { waiting = waiting, visits = visits, ended = ended, settled = settled, present = present, seen = seen,
  state = state }
local has_presence, lanes = read_presence_ms(state) and true or false, read_lanes(state)

-- The entries to evict, and what the journal says of each.
local ids = {}
for i = FIRST_ENTRY, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i]
end
if #ids == 0 then
  return { 'evicted', 0 }
end
local places = redis.call('ZMSCORE', waiting, unpack(ids))
local visit_texts = redis.call('HMGET', visits, unpack(ids))
local last_seen, present_places = redis.call('ZMSCORE', seen, unpack(ids)), redis.call('ZMSCORE', present, unpack(ids))
local chosen, facts, deadlines, is_chosen, left_absent = {}, {}, {}, {}, 0
for i, id in ipairs(ids) do
  local place = tonumber(places[i])
  local visit = place and (parse_visit(visit_texts[i]) or place % ORDER_RANGE)
  local is_spared = spares_checked_in == '1' and (not has_presence or has_checked_in(last_seen[i]))
  if place and visit == tonumber(ARGV[FIRST_ENTRY + 2 * i - 1]) and not is_spared and not is_chosen[id] then
    is_chosen[id] = true
    chosen[#chosen + 1], facts[#facts + 1], deadlines[#deadlines + 1] = id, string.format('%.0f 6', visit), '0'
    local progress = lanes[find_lane(place)]
    if progress and progress.absent > 0 and not present_places[i] and place <= progress.passed_through then
      progress.absent, left_absent = progress.absent - 1, left_absent + 1
    end
  end
end
if #chosen == 0 then
  return { 'evicted', 0 }
end

redis.call('ZREM', waiting, unpack(chosen))
redis.call('ZREM', present, unpack(chosen))
redis.call('ZREM', seen, unpack(chosen))
write_lanes(state, lanes)
queue.line.absent = math.max(queue.line.absent - left_absent, 0)
local tick = { epoch = queue.epoch, v = take_version(queue, state), now_ms = queue.now_ms }
local evicted = store_timeouts(keys, tick, chosen, facts, deadlines, 'evicted', 'evicted')
-- It has the form of a tick that promotes no entry.
redis.call('XADD', journal, '*', 'event', 'tick', 'epoch', string.format('%.0f', tick.epoch), 'v',
  string.format('%.0f', tick.v), 'at_ms', string.format('%.0f', tick.now_ms), 'claim_by_ms', 0, 'no_shows', '', 'expired',
  '', 'absences', '', 'evicted', evicted, 'promoted', '', 'promoted_again', '')
return { 'evicted', #chosen }
