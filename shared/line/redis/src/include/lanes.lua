-- Keeps how far each lane of a queue has moved: see domain/lane.rs. The field `lane_N` of the hash `state` has it as
-- `check_in_through passed_through gone_ahead speed speed_at_ms speed_gone_ahead`. A lane without such a field has had no
-- entry that was promoted. Include `scores` before this file.

local LANES = 8
local LANE_PLACES = 1125899906842624 -- 2^50: the places of one lane
local WINDOW_ENTRIES_MIN = 500
local CHECK_IN_INTERVAL_MS = 30000
local SPEED_AVERAGED_MS = 20000
local SPEED_MEASURED_MS = 1000

local function find_lane(place)
  return (place - place % LANE_PLACES) / LANE_PLACES
end

local function find_lane_top(lane)
  return (lane + 1) * LANE_PLACES - 1
end

local function parse_lane(lane, text)
  if not text then
    return { check_in_through = find_lane_top(lane), passed_through = lane * LANE_PLACES, gone_ahead = 0, speed = 0,
      speed_at_ms = 0, speed_gone_ahead = 0 }
  end
  local numbers = {}
  for number in string.gmatch(text, '%S+') do
    numbers[#numbers + 1] = tonumber(number)
  end
  local progress = {}
  progress.check_in_through, progress.passed_through, progress.gone_ahead, progress.speed, progress.speed_at_ms,
    progress.speed_gone_ahead = unpack(numbers)
  return progress
end

local function read_lane(state, lane)
  return parse_lane(lane, redis.call('HGET', state, 'lane_' .. lane))
end

local function write_lane(state, lane, progress)
  redis.call('HSET', state, 'lane_' .. lane, string.format('%.0f %.0f %.0f %.0f %.0f %.0f', progress.check_in_through,
    progress.passed_through, progress.gone_ahead, progress.speed, progress.speed_at_ms, progress.speed_gone_ahead))
end

-- Returns the lanes that had an entry, by number.
local function read_lanes(state)
  local names, lanes = {}, {}
  for lane = 0, LANES - 1 do
    names[lane + 1] = 'lane_' .. lane
  end
  for i, text in ipairs(redis.call('HMGET', state, unpack(names))) do
    if text then
      lanes[i - 1] = parse_lane(i - 1, text)
    end
  end
  return lanes
end

-- Counts an entry that came back to a place in line: the visitors behind it have one more ahead.
local function count_come_back(state, place)
  local lane = find_lane(place)
  local progress = read_lane(state, lane)
  progress.gone_ahead = progress.gone_ahead - 1
  write_lane(state, lane, progress)
end
