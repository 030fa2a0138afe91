-- What a tick does about presence: see domain/presence.rs. Include `timeouts`, `lanes` and `marks` before this file.
--
-- The field `presence` of the hash `state` has the presence clock as `ms at_ms check_ins checked_in_at_ms period_at_ms
-- period_check_ins is_busy`, and is missing while presence is switched off. `calls_N` has for lane N `growth judged_at_ms
-- judged_through looked_through`. `called_N` and `passed_N` have marks.

local ABSENCE_MARKS = 60

local function read_presence_clock(state)
  local text = hashes.get(state, 'presence')
  if not text then
    return nil
  end
  local numbers = parse_marks(text)
  return { ms = numbers[1], at_ms = numbers[2], check_ins = numbers[3], checked_in_at_ms = numbers[4],
    period_at_ms = numbers[5], period_check_ins = numbers[6], is_busy = numbers[7] == 1 }
end

local function write_presence_clock(state, clock)
  hashes.set(state, 'presence', format_marks({ clock.ms, clock.at_ms, clock.check_ins, clock.checked_in_at_ms,
    clock.period_at_ms, clock.period_check_ins, clock.is_busy and 1 or 0 }))
end

local function forget_calls(keys)
  redis.call('UNLINK', keys.present, keys.seen)
  hashes.remove(keys.state, 'check_ins', 'absence_cutoff_ms')
  for lane = 0, LANES - 1 do
    hashes.remove(keys.state, 'calls_' .. lane, 'called_' .. lane, 'passed_' .. lane)
  end
end

-- Switches presence on or off if the setting has changed. Returns the clock; nil if presence is off.
local function switch_presence(keys, lanes, now_ms, presence_ms)
  local clock = read_presence_clock(keys.state)
  if (clock ~= nil) == (presence_ms > 0) then
    return clock
  end
  forget_calls(keys)
  for lane, progress in pairs(lanes) do
    if clock then
      -- Absent visitors have their turns again.
      progress.gone_ahead, progress.absent = progress.gone_ahead - progress.absent, 0
    else
      progress.passed_through = find_lane_bottom(lane)
    end
  end
  if clock then
    hashes.remove(keys.state, 'presence')
    return nil
  end
  return { ms = now_ms, at_ms = now_ms, check_ins = 0, checked_in_at_ms = now_ms, period_at_ms = now_ms,
    period_check_ins = 0, is_busy = false }
end

-- Advances the presence clock. Returns whether it runs, whether the front door is down, and for how long it was since the
-- last tick. The clock stands still unless `may_run`, and while the front door is down: check-ins by poll and claims have
-- stopped although visitors are present.
local function advance_presence_clock(keys, clock, now_ms, presence_ms, may_run)
  local PRESENCE_STEP_MAX_MS, PERIOD_MS, HOLD_MAX_MS, BETWEEN_HOLDS_MS = 5000, 10000, 20000, 5000
  -- Visitors whose polls are all held are silent for as long as a hold: see `hold_candidate` in api/long_poll/mod.rs.
  local silence_ms = math.max(math.min(HOLD_MAX_MS, presence_ms / 3) + BETWEEN_HOLDS_MS, PERIOD_MS)
  local check_ins = tonumber(hashes.get(keys.state, 'check_ins') or 0)
  local last_at_ms = clock.at_ms
  clock.at_ms = math.max(now_ms, last_at_ms)
  if check_ins > clock.check_ins then
    clock.check_ins, clock.checked_in_at_ms = check_ins, clock.at_ms
  end
  local counted_ms = clock.at_ms - clock.period_at_ms
  if counted_ms >= PERIOD_MS then
    local counted = check_ins - clock.period_check_ins
    if counted > 0 then
      -- An outage may begin early in the period. What came before it still shows that the queue is busy.
      local until_last_ms = clock.checked_in_at_ms - clock.period_at_ms
      clock.is_busy = counted * 1000 >= counted_ms or (clock.is_busy and counted * 1000 >= until_last_ms)
    end
    clock.period_at_ms, clock.period_check_ins = clock.at_ms, check_ins
  end
  local silent_for_ms = clock.at_ms - clock.checked_in_at_ms
  clock.may_be_down = clock.is_busy and silent_for_ms >= PERIOD_MS
  local is_silent = silent_for_ms >= silence_ms
  if may_run and clock.is_busy and is_silent and redis.call('ZCARD', keys.present) > 0 then
    local was_silent = last_at_ms - clock.checked_in_at_ms >= silence_ms
    return false, true, clock.at_ms - (was_silent and last_at_ms or clock.checked_in_at_ms)
  end
  if may_run then
    clock.ms = clock.ms + math.min(clock.at_ms - last_at_ms, PRESENCE_STEP_MAX_MS)
  end
  return may_run, false, 0
end

-- Ends the presence of at most `limit` visitors who have not checked in for `presence_ms`. Returns how many.
local function drop_silent(keys, lanes, clock, presence_ms, limit)
  if limit <= 0 then
    return 0
  end
  local bound = string.format('%.0f', clock.ms - presence_ms)
  local due = redis.call('ZRANGEBYSCORE', keys.seen, 1, bound, 'WITHSCORES', 'LIMIT', 0, limit)
  if #due == 0 then
    return 0
  end
  local ids, absent_since = {}, {}
  for i = 1, #due, 2 do
    ids[#ids + 1] = due[i]
    absent_since[#absent_since + 1] = '-' .. due[i + 1]
    absent_since[#absent_since + 1] = due[i]
  end
  for _, place in ipairs(redis.call('ZMSCORE', keys.present, unpack(ids))) do
    place = tonumber(place)
    local progress = lanes[find_lane(place)]
    if progress and place <= progress.passed_through then
      progress.gone_ahead, progress.absent = progress.gone_ahead + 1, progress.absent + 1
    end
  end
  redis.call('ZREM', keys.present, unpack(ids))
  redis.call('ZADD', keys.seen, unpack(absent_since))
  return #ids
end

-- Reads what each lane remembers of its calls, and finds up to which place silence counts as absence.
local function read_calls(keys, lanes, clock, call_ms)
  local calls = {}
  for lane in pairs(lanes) do
    local numbers_text, called_text, passed_text =
      hashes.get_many(keys.state, 'calls_' .. lane, 'called_' .. lane, 'passed_' .. lane)
    local bottom, numbers = find_lane_bottom(lane), parse_marks(numbers_text)
    local called = parse_marks(called_text)
    calls[lane] = { growth = numbers[1] or 1, judged_at_ms = numbers[2] or clock.ms, judged_through = numbers[3] or bottom,
      looked_through = numbers[4] or bottom, called = called, passed = parse_marks(passed_text),
      judged = find_lowest_mark(called, clock.ms - call_ms) or bottom }
  end
  return calls
end

-- Decides whether the windows grow: one does if fewer than half of those judged since the last decision checked in.
local function decide_growths(keys, lanes, calls, clock, call_ms)
  local GROWTH_FACTOR, GROWTH_MAX = 4, 64
  for lane in pairs(lanes) do
    local own = calls[lane]
    if own.judged > own.judged_through and clock.ms >= own.judged_at_ms + call_ms then
      local in_line = count_between(keys.waiting, own.judged_through, own.judged)
      local present = count_between(keys.present, own.judged_through, own.judged)
      if in_line > 0 then
        own.growth = 2 * present < in_line and math.min(own.growth * GROWTH_FACTOR, GROWTH_MAX) or 1
      end
      own.judged_at_ms, own.judged_through = clock.ms, own.judged
    end
  end
end

-- Stores the presence clock, the marks of each lane, and what it remembers of its calls.
local function write_calls(keys, lanes, calls, clock, call_ms, absent_ms)
  local CALLED_MARK_MS = 1000
  write_presence_clock(keys.state, clock)
  for lane, progress in pairs(lanes) do
    local own, top, called_through = calls[lane], find_lane_top(lane), progress.check_in_through
    if called_through == top then
      -- A visitor who enters behind the last entry was not called yet.
      local _, last = unpack(redis.call('ZREVRANGEBYSCORE', keys.waiting, string.format('%.0f', top),
        string.format('%.0f', find_lane_bottom(lane)), 'WITHSCORES', 'LIMIT', 0, 1))
      called_through = tonumber(last or progress.passed_through)
    end
    add_mark(own.called, clock.ms, called_through, CALLED_MARK_MS, call_ms)
    add_mark(own.passed, clock.ms, progress.passed_through, math.floor(absent_ms / ABSENCE_MARKS), absent_ms)
    hashes.set(keys.state, 'calls_' .. lane, format_marks({ own.growth, own.judged_at_ms, own.judged_through,
      own.looked_through }), 'called_' .. lane, format_marks(own.called), 'passed_' .. lane, format_marks(own.passed))
  end
end
