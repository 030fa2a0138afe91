-- Calls the visitors whose turns come soon. Include `lanes` before this file.

-- Adds what happened since the last measurement to the speed, in entries per 1,000 seconds, if that was long enough ago.
local function measure_speed(progress, now_ms)
  local SPEED_AVERAGED_MS, SPEED_MEASURED_MS = 20000, 1000
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

-- Returns the pace by which visitors are called, in entries per 1,000 seconds, and how many may be called at once. The pace
-- is 0 if something else limits the promotion. In the mode `passthrough` as many go a second as may be called at once.
local function compute_call_bounds(limited_by, bucket, presence_ms, polls_per_second_max)
  local POLL_INTERVAL_MS = 30000 -- how often a called visitor polls while presence is off
  local poll_interval_ms = presence_ms > 0 and math.floor(presence_ms / 3) or POLL_INTERVAL_MS
  local room = math.floor(tonumber(polls_per_second_max or 500) * poll_interval_ms / 1000)
  local is_at_pace = limited_by == 'line' or limited_by == 'presence' or limited_by == 'pace' or limited_by == 'requested'
  local pace = bucket.is_passthrough and room * 1000 or math.floor(bucket.batch * 1000000 / bucket.interval_ms)
  return is_at_pace and pace or 0, room
end

-- Measures how fast each lane moves, and calls visitors accordingly. `calls` has by how much the window of a lane has
-- grown. `pace` is the pace of the queue in entries per 1,000 seconds if nothing else limits the promotion, else 0. It
-- counts for the first lane with an entry. `room` is how many entries may be called at once; the lanes share it.
-- `has_lanes` tells whether there is another than the default lane, and `waiting_count` how many entries wait. Returns how
-- many more visitors are called by entering the default lane.
local function call_visitors(waiting, lanes, calls, has_lanes, waiting_count, now_ms, pace, check_in_ms, room)
  local first_lane = has_lanes and waiting_count > 0 and find_outer_lanes(waiting) or LANE_DEFAULT
  local newcomers_called = 0
  for lane = 0, LANES - 1 do
    local progress = lanes[lane]
    if progress then
      measure_speed(progress, now_ms)
      local speed = lane == first_lane and math.max(progress.speed, pace) or progress.speed
      local growth = calls[lane] and calls[lane].growth or 1
      local most = math.max(room, WINDOW_ENTRIES_MIN) * (growth > 1 and 2 or 1)
      local window = math.min(math.max(math.floor(speed * check_in_ms / 1000000), WINDOW_ENTRIES_MIN) * growth, most)
      room = room - window
      local top = find_lane_top(lane)
      local before = redis.call('ZCOUNT', waiting, '-inf', string.format('%.0f', progress.passed_through))
      progress.check_in_through = top
      if before + window <= waiting_count then
        local _, last_called = unpack(redis.call('ZRANGE', waiting, before + window - 1, before + window - 1, 'WITHSCORES'))
        progress.check_in_through = math.min(tonumber(last_called), top)
      end
      if lane == LANE_DEFAULT and progress.check_in_through == top then
        local behind = has_lanes and count_between(waiting, progress.passed_through, top) or waiting_count - before
        newcomers_called = math.max(window - behind, 0)
      end
    end
  end
  return newcomers_called
end
