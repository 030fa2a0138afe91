-- Ends absences: those that have lasted too long, and the longest ones beyond the limit. Include `presence_tick`
-- and `dismissals` before this file.
--
-- An absence begins when the entry is passed over, or when its visitor is last seen, whichever is later. Marks tell when
-- an entry was passed over, so within the time of a mark the order is that of the places. While too many entries are
-- absent, the field `absence_cutoff_ms` of the hash `state` has the presence time of which the absences end that began
-- before. It rises by the time of a mark when no such absence is left.

-- Finds entries of a lane that have been absent since `since_ms`. Looks at most at `budget` entries behind those that the
-- last call looked at, and finds at most `ends_max`. Returns a list of entries and places, at how many it looked, and
-- whether it came to the end of the absent ones.
local function find_absent(keys, lane, progress, own, clock, since_ms, budget, ends_max)
  local passed_at = find_mark(own.passed, since_ms)
  local through = since_ms >= clock.ms and progress.passed_through or (passed_at and own.passed[passed_at + 1])
  if not through then
    return {}, 0, true
  elseif budget <= 0 or ends_max <= 0 then
    return {}, 0, false
  end
  local looked_at = redis.call('ZRANGEBYSCORE', keys.waiting, string.format('(%.0f', own.looked_through),
    string.format('%.0f', through), 'WITHSCORES', 'LIMIT', 0, budget)
  local ids, absent = {}, {}
  for i = 1, #looked_at, 2 do
    ids[#ids + 1] = looked_at[i]
  end
  if #ids > 0 then
    for i, seen in ipairs(redis.call('ZMSCORE', keys.seen, unpack(ids))) do
      seen = tonumber(seen or 0)
      if seen <= 0 and -seen <= since_ms then
        absent[#absent + 1], absent[#absent + 2] = ids[i], looked_at[2 * i]
        if #absent == 2 * ends_max then
          own.looked_through = tonumber(looked_at[2 * i])
          return absent, i, false
        end
      end
    end
  end
  local is_finished = #ids < budget
  own.looked_through = is_finished and find_lane_bottom(lane) or tonumber(looked_at[#looked_at])
  return absent, #ids, is_finished
end

-- Chooses the time since which absences end if `excess` entries too many are absent. Returns nil if none is.
local function choose_cutoff(keys, lanes, calls, clock, absent_ms, excess)
  local cutoff_ms = tonumber(hashes.get(keys.state, 'absence_cutoff_ms'))
  if excess == 0 then
    return nil
  elseif not cutoff_ms then
    cutoff_ms = clock.ms
    for lane in pairs(lanes) do
      cutoff_ms = math.min(cutoff_ms, calls[lane].passed[1] or clock.ms)
      calls[lane].looked_through = find_lane_bottom(lane)
    end
  end
  return math.max(cutoff_ms, clock.ms - absent_ms)
end

-- Takes entries out of the line whose absences end, at most `limit`. Returns a list of the entries, and one of their
-- places.
local function take_absent(keys, lanes, calls, clock, absent_ms, absent_limit, limit)
  local ids, places = {}, {}
  local excess = absent_limit and math.max(count_absent(lanes) - absent_limit, 0) or 0
  local cutoff_ms = choose_cutoff(keys, lanes, calls, clock, absent_ms, excess)
  local ends_max = cutoff_ms and excess or limit
  local is_finished
  repeat
    is_finished = true
    for lane = 0, LANES - 1 do
      local progress = lanes[lane]
      if progress then
        local absent, looked, is_end = find_absent(keys, lane, progress, calls[lane], clock,
          cutoff_ms or clock.ms - absent_ms, limit, ends_max)
        local first = #ids + 1
        for i = 1, #absent, 2 do
          ids[#ids + 1], places[#places + 1] = absent[i], absent[i + 1]
        end
        if #absent > 0 then
          redis.call('ZREM', keys.waiting, unpack(ids, first))
          redis.call('ZREM', keys.seen, unpack(ids, first))
        end
        progress.absent = progress.absent - #absent / 2
        limit, ends_max, is_finished = limit - looked, ends_max - #absent / 2, is_finished and is_end
      end
    end
    local goes_on = cutoff_ms and is_finished and cutoff_ms < clock.ms
    if goes_on then
      cutoff_ms = math.min(cutoff_ms + math.floor(absent_ms / ABSENCE_MARKS), clock.ms)
    end
  until not goes_on
  if cutoff_ms and ends_max > 0 then
    hashes.set(keys.state, 'absence_cutoff_ms', string.format('%.0f', cutoff_ms))
  else
    hashes.remove(keys.state, 'absence_cutoff_ms')
  end
  return ids, places
end

-- Ends absences that have lasted `absent_ms`, and the longest ones beyond `absent_limit`, at most `limit`. Returns how
-- many, and their part of the journal record.
local function end_absences(keys, tick, lanes, calls, clock, absent_ms, absent_limit, limit)
  local ids, places = take_absent(keys, lanes, calls, clock, absent_ms, absent_limit, limit)
  if #ids == 0 then
    return 0, ''
  end
  return #ids, store_ended_waits(keys, tick, ids, places, 'absence', 'absences')
end
