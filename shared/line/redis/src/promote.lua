#!lua flags=allow-oom
-- Drops what timed out and promotes as many as may go: min(waiting, capacity - ready - active, tokens), at most `chunk`
-- entries in all, so that nobody else waits long. Whatever it does is one record of the journal. At the journal's limit,
-- or where it is not certain what time it is, it does neither.
-- What frees room, or keeps an acknowledged change, runs also where the server's memory is full.
-- include: clock scores claim_clock pace end averages
-- KEYS: waiting ready active ended config state journal changes
-- ARGV: given_us witness_ms asked chunk heartbeat journal_max fence_epoch fence short_ms long_ms silent_ms
-- Output: {'no-queue'}, also where it is of another epoch than the fence, or came back as it was before
--         {'promoted', promoted, no_shows, expired, held_back_by, in line, ready, active, promoted_through, now_ms,
--          1 where the clocks are apart or 0, how far the server's is ahead in ms, offset_ms}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local journal, changes = KEYS[7], KEYS[8]
local given_us, witness_ms, asked, chunk = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local heartbeat, journal_max, fence_epoch, fence = ARGV[5], tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8])
local short_ms, long_ms, silent_ms = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])

local c = redis.call('HMGET', config, 'epoch', 'paused', 'entrance', 'capacity', 'batch', 'interval_ms', 'claim_ms')
if not c[1] then
  return { 'no-queue' }
end
local s = redis.call('HMGET', state, 'v', 'paused_at_ms', 'paused_ms', 'credit', 'credit_at_ms', 'claim_floor_ms',
  'claim_floor_until_ms', 'taken_seconds', 'waiting_seconds', 'moving_since_ms', 'promoted_through', 'heartbeat_ms',
  'tick_gap_ms', 'waited_ms', 'waited_max_ms', 'offset_ms', 'testified_ms', 'fence', 'line_since_ms', 'counted_at_ms')
if fence_epoch ~= '' and (c[1] ~= fence_epoch or tonumber(s[18] or 0) < fence) then
  return { 'no-queue' }
end
local v = tonumber(s[1])
local us, apart, ahead_ms = line_time(given_us, witness_ms, s[16], v, s[12])
local now_ms = math.floor(us / 1000)
-- Of whatever this call does: nothing else can come between.
local change_v = next_version(us, v)
local clock_ms = claim_clock_ms(now_ms, c[2], tonumber(s[2]), tonumber(s[3]))

-- Every score below it has a deadline that has come. Written out, since Lua's own way would round it.
local function due_bound(now_ms)
  return string.format('(%.0f', deadline_score(now_ms + 1, 0))
end

-- Takes entries whose deadline has come out of a set; returns how many, and for the journal 'id visit id visit …'.
local function drop_due(set, at_ms, most, how, total)
  if apart then
    return 0, ''
  end
  local due = redis.call('ZRANGEBYSCORE', set, '-inf', due_bound(at_ms), 'WITHSCORES', 'LIMIT', 0, most)
  local count = #due / 2
  if count == 0 then
    return 0, ''
  end
  local ends = {}
  for i = 1, count do
    ends[i * 2 - 1] = due[i * 2 - 1]
    due[i * 2] = tonumber(due[i * 2]) % 4096
    ends[i * 2] = end_text(tonumber(c[1]), change_v, due[i * 2], how, now_ms)
  end
  redis.call('ZREMRANGEBYRANK', set, 0, count - 1)
  redis.call('HSET', ended, unpack(ends))
  redis.call('HINCRBY', state, total, count)
  return count, table.concat(due, ' ')
end
local is_full = redis.call('XLEN', journal) >= journal_max
local most = is_full and 0 or chunk
local no_shows, no_show_list = drop_due(ready, clock_ms, most, 'no-show', 'no_shows')
local expired, expired_list = drop_due(active, now_ms, most - no_shows, 'expired', 'expired')

-- How many may go, and what keeps it from being more.
local in_line = redis.call('ZCARD', waiting)
local taken = redis.call('ZCARD', ready) + redis.call('ZCARD', active)
local batch, interval_ms = tonumber(c[5]), tonumber(c[6])
local credit = refilled(tonumber(s[4]), tonumber(s[5]), now_ms, batch, interval_ms)
local going, held_back_by = in_line, 'line'
local function bound(by, most)
  if most < going then
    going, held_back_by = most, by
  end
end
bound('capacity', math.max(tonumber(c[4]) - taken, 0))
bound('pace', math.floor(credit / interval_ms))
bound('asked', math.min(asked, chunk - no_shows - expired))
if c[2] == '1' or c[3] == 'closed' then
  going, held_back_by = 0, 'gate'
end
if is_full then
  going, held_back_by = 0, 'journal'
end
if apart then
  going, held_back_by = 0, 'clock'
elseif s[17] then
  redis.call('HDEL', state, 'testified_ms')
end

-- Moves the head of the line up.
local moved, claim_by_ms, through = '', 0, tonumber(s[11])
if going > 0 then
  local claim_ms = tonumber(c[7])
  if now_ms < tonumber(s[7]) then
    claim_ms = math.max(claim_ms, tonumber(s[6]))
  end
  claim_by_ms = now_ms + claim_ms
  local first = redis.call('ZRANGE', waiting, 0, going - 1, 'WITHSCORES')
  moved = table.concat(first, ' ')
  local additions = {}
  local waited_ms, waited_max_ms = 0, tonumber(s[15] or 0)
  for i = 1, going do
    local score = tonumber(first[i * 2])
    additions[i * 2 - 1] = deadline_score(clock_ms + claim_ms, visit_of(score))
    additions[i * 2] = first[i * 2 - 1]
    -- A place in a crowded millisecond may lie ahead of the clock.
    local wait_ms = now_ms - joined_at_ms(score)
    if wait_ms > 0 then
      waited_ms = waited_ms + wait_ms
      if wait_ms > waited_max_ms then
        waited_max_ms = wait_ms
      end
    end
  end
  redis.call('ZREMRANGEBYRANK', waiting, 0, going - 1)
  redis.call('ZADD', ready, unpack(additions))

  local highest = tonumber(first[going * 2])
  through = math.max(through, highest)
  redis.call('HSET', state, 'credit', credit - going * interval_ms, 'credit_at_ms', math.max(now_ms, tonumber(s[5])),
    'promoted_through', through, 'waited_ms', tonumber(s[14] or 0) + waited_ms, 'waited_max_ms', waited_max_ms)
  redis.call('HINCRBY', state, 'promoted', going)
  -- What became of everybody who waited up to there, for those who hold: see changes.rs.
  redis.call('SPUBLISH', changes, string.format('%.0f %.0f %.0f %.0f %.0f', highest, c[1], change_v, now_ms, claim_by_ms))
end

if going + no_shows + expired > 0 then
  redis.call('HSET', state, 'v', change_v)
  redis.call('XADD', journal, '*', 'event', 'tick', 'epoch', c[1], 'v', change_v, 'at_ms', now_ms, 'claim_by_ms', claim_by_ms,
    'no_shows', no_show_list, 'expired', expired_list, 'promoted', moved)
end
if heartbeat == '1' then
  local beat_ms = tonumber(s[12])
  local gap_ms = beat_ms > 0 and now_ms - beat_ms or 0
  redis.call('HSET', state, 'heartbeat_ms', now_ms, 'tick_gap_ms', math.max(gap_ms, tonumber(s[13] or 0)))
end
-- For the moving averages: seconds of the clock, so that many ticks add up to no less than one.
local counted_at_ms = tonumber(s[20] or 0)
local passed_ms = counted_at_ms > 0 and math.max(now_ms - counted_at_ms, 0) or 0
local passed_seconds = math.floor(now_ms / 1000) - math.floor((now_ms - passed_ms) / 1000)
local taken_seconds = tonumber(s[8] or 0) + taken * passed_seconds
local waiting_seconds = tonumber(s[9] or 0) + in_line * passed_seconds
local moves = in_line > going and held_back_by ~= 'gate' and held_back_by ~= 'journal' and held_back_by ~= 'clock'
redis.call('HSET', state, 'counted_at_ms', now_ms, 'taken_seconds', taken_seconds, 'waiting_seconds', waiting_seconds,
  'line_since_ms', since_ms(moves, tonumber(s[19] or 0), now_ms),
  'moving_since_ms', since_ms(moves, passed_ms <= silent_ms and tonumber(s[10] or 0) or 0, now_ms))
turn_windows(state, now_ms, short_ms, long_ms, in_line - going, taken + going, taken_seconds, waiting_seconds)
return { 'promoted', going, no_shows, expired, held_back_by, in_line - going, redis.call('ZCARD', ready),
  redis.call('ZCARD', active), through, now_ms, apart and 1 or 0, ahead_ms, tonumber(s[16] or 0) }
