#!lua flags=allow-oom
-- Returns what happened in a queue since the last report, and its state. Only one caller gets a report each interval.
-- allow-oom: this script only overwrites numbers, which takes no more memory, so it may run at maxmemory. At that
-- time an operator needs the report most.
-- include: hashes line line_table clock fields words places scores visits lanes opening
-- KEYS: waiting ready active visits present config state journal journaled deferred dead_letters
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   present: sorted set, called entry that checked in lately -> place
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   journal: stream, changes that the backup does not have yet
--   journaled: hash, `entry kind` -> the stream id of a change in the journal, or the change itself if it is deferred
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
--   dead_letters: stream, dead letters, the records that could not be written to the backup
-- ARGV: given_us witness_ms interval_ms idle_interval_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   interval_ms: the time between two reports, in milliseconds
--   idle_interval_ms: the same for a queue that is empty and in which nothing happened, in milliseconds
-- Output: {'no-queue'}: Redis does not have the queue
--         {'early', due_in_ms}: no report is due; ask again in due_in_ms
--         {'report', now_ms, waiting, ready, active, journal records, dead letters, oldest_at_ms, head, tail,
--          tick_age_ms, waited_ms, waited_max_ms, stayed_ms, stays, entered, promoted, completed, left, expired, no_shows, absences,
--          generation, check_age_ms, called, present, absent, load_at_ms}:
--           waiting, ready, active: how many entries are in each state now
--           oldest_at_ms: when the oldest change in the journal happened, in Unix milliseconds; 0 for an empty journal
--           head, tail: the first place in line that is not absent, and the last place; 0 if there is none. Before the
--             opening no wait counts, so there is no head
--           tick_age_ms: the longest time without a heartbeat of the promoter since the last report, in milliseconds
--           waited_ms, waited_max_ms: sum and maximum of the waits of promoted entries since the last report
--           stayed_ms, stays: sum of how long the sessions lasted that ended since the last report, and how many these are
--           entered to absences: how many entries did so since the last report
--           generation: of the queue
--           check_age_ms: the time since the last consistency check ended, in milliseconds
--           load_at_ms: when the last load report of the protected service came, in Unix milliseconds; 0 if none did
--           called, present, absent: how many waiting entries are called and not absent, are present, and are absent
local waiting, ready, active, visits, present, config = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local state, journal, journaled, deferred, dead_letters = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])
local interval_ms, idle_interval_ms = tonumber(ARGV[3]), tonumber(ARGV[4])

local generation, line = redis.call('HGET', config, 'generation'), read_line_fields(state)
if not generation or not line then
  return { 'no-queue' }
end
local stored = read_numbers(state, { 'reported_at_ms', 'tick_gap_ms', 'waited_ms', 'waited_max_ms',
  'stayed_ms', 'stays', 'checked_at_ms' })
local us, clocks_apart = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)
-- A clock that was set back, or line time that stands still, must not delay the report.
local passed_ms = now_ms - (stored.reported_at_ms or 0)
local is_time_certain = not clocks_apart and passed_ms >= 0
if is_time_certain and passed_ms < interval_ms then
  return { 'early', interval_ms - passed_ms }
end

local totals = { 'entered', 'promoted', 'completed', 'left', 'expired', 'no_shows', 'absences' }
local counts = { line.entered, unpack(redis.call('HMGET', state, unpack(totals, 2))) }
local reported = redis.call('HMGET', state, 'reported_entered', 'reported_promoted', 'reported_completed',
  'reported_left', 'reported_expired', 'reported_no_shows', 'reported_absences')
local waiting_count, ready_count = redis.call('ZCARD', waiting), redis.call('ZCARD', ready)
local active_count = redis.call('ZCARD', active)
local record_count = redis.call('XLEN', journal) + redis.call('ZCARD', deferred)
local activity = waiting_count + ready_count + active_count + record_count
local updates = { 'reported_at_ms', now_ms, 'tick_gap_ms', 0, 'waited_ms', 0, 'waited_max_ms', 0,
  'stayed_ms', 0, 'stays', 0 }
local since_report = {}
for i, total in ipairs(totals) do
  updates[#updates + 1] = 'reported_' .. total
  updates[#updates + 1] = counts[i]
  -- A total falls when a provisional place is dropped.
  since_report[total] = math.max(counts[i] - (reported[i] or 0), 0)
  activity = activity + since_report[total]
end
if is_time_certain and activity == 0 and passed_ms < idle_interval_ms then
  return { 'early', math.min(interval_ms, idle_interval_ms - passed_ms) }
end
redis.call('HSET', state, unpack(updates))

-- When the change in a record happened; `values` is a list of field, value, field, value. nil if it does not say.
local function read_change_time_ms(values)
  for i = 1, #values, 2 do
    if values[i] == 'at_ms' then
      return tonumber(values[i + 1])
    end
  end
end
local oldest_at_ms
local oldest = redis.call('XRANGE', journal, '-', '+', 'COUNT', 1)[1]
if oldest then
  oldest_at_ms = read_change_time_ms(oldest[2])
end
local first_deferred = redis.call('ZRANGE', deferred, 0, 0)[1]
if first_deferred then
  local at_ms = read_change_time_ms(split_words(redis.call('HGET', journaled, first_deferred) or ''))
  oldest_at_ms = at_ms and math.min(at_ms, oldest_at_ms or at_ms) or oldest_at_ms
end
local lanes = read_lanes(state)
add_new_lanes(waiting, lanes, line.has_lanes, waiting_count)
-- The visit of a drawn place is with its entry.
local function describe_report_place(place)
  if not place or not is_drawn(place) then
    return place or 0
  end
  local bound = string.format('%.0f', place)
  local id = redis.call('ZRANGEBYSCORE', waiting, bound, bound, 'LIMIT', 0, 1)[1]
  return describe_place(place, (parse_visit(redis.call('HGET', visits, id))) or 0)
end
local head = not is_scheduled(config, now_ms) and find_head(waiting, present, lanes) or nil
local _, tail = unpack(redis.call('ZRANGE', waiting, -1, -1, 'WITHSCORES'))
local heartbeat_age_ms = line.heartbeat_ms > 0 and now_ms - line.heartbeat_ms or 0
local tick_age_ms = math.max(heartbeat_age_ms, stored.tick_gap_ms or 0)
local check_age_ms = math.max(now_ms - (stored.checked_at_ms or now_ms), 0)
return { 'report', now_ms, waiting_count, ready_count, active_count, record_count, redis.call('XLEN', dead_letters),
  oldest_at_ms or 0, describe_report_place(head), describe_report_place(tonumber(tail)), tick_age_ms,
  stored.waited_ms or 0, stored.waited_max_ms or 0, stored.stayed_ms or 0, stored.stays or 0,
  since_report.entered, since_report.promoted, since_report.completed, since_report.left, since_report.expired,
  since_report.no_shows, since_report.absences, tonumber(generation), check_age_ms, count_called(waiting, lanes),
  redis.call('ZCARD', present), count_absent(lanes),
  tonumber(string.match(redis.call('HGET', state, 'load') or '', '^at_ms (%d+)') or 0) }
