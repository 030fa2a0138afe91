#!lua flags=allow-oom
-- Takes what happened since the last report, and says how the queue stands: once each `every_ms`, or each `idle_ms` where
-- nobody is there and nothing happened, however many ask.
-- It writes numbers over numbers, so it runs also where the server's memory is full: that is when it is wanted.
-- include: clock scores
-- KEYS: waiting ready active config state journal aside
-- ARGV: given_us witness_ms every_ms idle_ms
-- Output: {'no-queue'}
--         {'early', due_in_ms}
--         {'report', now_ms, in line, ready, active, journal records, records set aside,
--          when the oldest of the journal happened or 0, score of the head or 0, score of the tail or 0, tick_age_ms, waited_ms, waited_max_ms, entered, promoted,
--          completed, left, expired, no_shows, generation, check_age_ms}
local waiting, ready, active, config, state, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local aside = KEYS[7]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])
local every_ms, idle_ms = tonumber(ARGV[3]), tonumber(ARGV[4])

local c = redis.call('HMGET', config, 'generation')
if not c[1] then
  return { 'no-queue' }
end
local s = redis.call('HMGET', state, 'v', 'reported_at_ms', 'heartbeat_ms', 'tick_gap_ms', 'waited_ms', 'waited_max_ms',
  'checked_at_ms', 'offset_ms')
local us, apart = line_time(given_us, witness_ms, s[8], tonumber(s[1]), s[3])
local now_ms = math.floor(us / 1000)
-- A clock that was set back does not silence it, nor does line time that stands still.
local passed_ms = now_ms - tonumber(s[2] or 0)
if not apart and passed_ms >= 0 and passed_ms < every_ms then
  return { 'early', every_ms - passed_ms }
end

local totals = { 'entered', 'promoted', 'completed', 'left', 'expired', 'no_shows' }
local counts = redis.call('HMGET', state, unpack(totals))
local reported = redis.call('HMGET', state, 'reported_entered', 'reported_promoted', 'reported_completed', 'reported_left',
  'reported_expired', 'reported_no_shows')
local in_line, is_ready, is_active = redis.call('ZCARD', waiting), redis.call('ZCARD', ready), redis.call('ZCARD', active)
local records = redis.call('XLEN', journal)
local happened = in_line + is_ready + is_active + records
local updates = { 'reported_at_ms', now_ms, 'tick_gap_ms', 0, 'waited_ms', 0, 'waited_max_ms', 0 }
for i, total in ipairs(totals) do
  updates[#updates + 1] = 'reported_' .. total
  updates[#updates + 1] = counts[i]
  counts[i] = counts[i] - (reported[i] or 0)
  happened = happened + counts[i]
end
if not apart and happened == 0 and passed_ms >= 0 and passed_ms < idle_ms then
  return { 'early', math.min(every_ms, idle_ms - passed_ms) }
end
redis.call('HSET', state, unpack(updates))

-- A record is a list of field, value, field, value.
local oldest_at_ms = 0
local oldest = redis.call('XRANGE', journal, '-', '+', 'COUNT', 1)[1]
if oldest then
  for i = 1, #oldest[2], 2 do
    if oldest[2][i] == 'at_ms' then
      oldest_at_ms = tonumber(oldest[2][i + 1])
    end
  end
end
local head = redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES')
local tail = redis.call('ZRANGE', waiting, -1, -1, 'WITHSCORES')
local beat_ms = tonumber(s[3])
local tick_age_ms = math.max(beat_ms > 0 and now_ms - beat_ms or 0, tonumber(s[4] or 0))
return { 'report', now_ms, in_line, is_ready, is_active, records, redis.call('XLEN', aside), oldest_at_ms,
  tonumber(head[2] or 0), tonumber(tail[2] or 0), tick_age_ms, tonumber(s[5] or 0), tonumber(s[6] or 0), counts[1], counts[2], counts[3], counts[4],
  counts[5], counts[6], tonumber(c[1]), math.max(now_ms - tonumber(s[7] or now_ms), 0) }
