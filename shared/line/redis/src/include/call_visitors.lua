-- Counts the entries that go past the head of their lanes, and calls the visitors whose turns come soon. Include `lanes`
-- before this file.

-- Counts the entries of `head`, a list of entries and places, that go past the heads of their lanes.
local function count_gone_ahead(lanes, head)
  local first_lane, last_lane = find_lane(head[2]), find_lane(head[#head])
  local counts = {}
  if first_lane == last_lane then
    counts[first_lane] = { count = #head / 2, highest = tonumber(head[#head]) }
  else
    for i = 2, #head, 2 do
      local lane = find_lane(head[i])
      local counted = counts[lane] or { count = 0 }
      counts[lane] = { count = counted.count + 1, highest = tonumber(head[i]) }
    end
  end
  for lane, counted in pairs(counts) do
    local progress = lanes[lane] or parse_lane(lane, nil)
    progress.gone_ahead = progress.gone_ahead + counted.count
    progress.passed_through = math.max(progress.passed_through, counted.highest)
    lanes[lane] = progress
  end
end

-- Adds what happened since the last measurement to the speed, in entries per 1,000 seconds, if that was long enough ago.
local function measure_speed(progress, now_ms)
  local passed_ms = math.max(now_ms - progress.speed_at_ms, 0)
  if progress.speed_at_ms > 0 and passed_ms < SPEED_MEASURED_MS then
    return
  end
  if progress.speed_at_ms > 0 then
    local passed_entries = math.max(progress.gone_ahead - progress.speed_gone_ahead, 0)
    local weight_ms = math.min(passed_ms, SPEED_AVERAGED_MS)
    local kept = progress.speed * (SPEED_AVERAGED_MS - weight_ms)
    local added = math.floor(passed_entries * 1000000 * weight_ms / passed_ms)
    progress.speed = math.floor((kept + added) / SPEED_AVERAGED_MS)
  end
  progress.speed_at_ms, progress.speed_gone_ahead = now_ms, progress.gone_ahead
end

-- Measures how fast each lane moves, calls visitors accordingly, and stores the lanes. `pace` is the pace of the queue in
-- entries per 1,000 seconds if nothing else limits the promotion, else 0. It counts for the first lane with an entry.
local function call_visitors(state, waiting, lanes, now_ms, pace, check_in_ms, polls_per_second_max)
  local window_max = math.max(math.floor(polls_per_second_max * CHECK_IN_INTERVAL_MS / 1000), WINDOW_ENTRIES_MIN)
  local first_lane
  local first = redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES')
  if #first > 0 then
    local last = redis.call('ZRANGE', waiting, -1, -1, 'WITHSCORES')
    first_lane = find_lane(first[2])
    for lane = first_lane, find_lane(last[2]) do
      lanes[lane] = lanes[lane] or parse_lane(lane, nil)
    end
  end
  for lane, progress in pairs(lanes) do
    measure_speed(progress, now_ms)
    local speed = lane == first_lane and math.max(progress.speed, pace) or progress.speed
    local window = math.floor(speed * check_in_ms / 1000000)
    window = math.min(math.max(window, WINDOW_ENTRIES_MIN), window_max)
    local before = redis.call('ZCOUNT', waiting, '-inf', string.format('%.0f', progress.passed_through))
    local last_called = redis.call('ZRANGE', waiting, before + window - 1, before + window - 1, 'WITHSCORES')
    local top = find_lane_top(lane)
    progress.check_in_through = last_called[2] and math.min(tonumber(last_called[2]), top) or top
    write_lane(state, lane, progress)
  end
end
