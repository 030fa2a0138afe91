-- Keeps how far each lane of a queue has moved: see domain/lane.rs. The field `lane_N` of the hash `state` has it as
-- `check_in_through passed_through gone_ahead speed speed_at_ms speed_gone_ahead absent`. A lane without such a field has
-- had no entry at a tick. Include `scores` before this file.

local LANES = 8
local WINDOW_ENTRIES_MIN = 500

local function find_lane(place)
  return (place - place % LANE_PLACES) / LANE_PLACES
end

local function find_lane_bottom(lane)
  return lane * LANE_PLACES
end

local function find_lane_top(lane)
  return (lane + 1) * LANE_PLACES - 1
end

local function parse_lane(lane, text)
  local LANE_PATTERN = '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)'
  if not text then
    return { check_in_through = find_lane_top(lane), passed_through = find_lane_bottom(lane), gone_ahead = 0,
      speed = 0, speed_at_ms = 0, speed_gone_ahead = 0, absent = 0 }
  end
  local check_in_through, passed_through, gone_ahead, speed, speed_at_ms, speed_gone_ahead, absent =
    string.match(text, LANE_PATTERN)
  return { check_in_through = tonumber(check_in_through), passed_through = tonumber(passed_through),
    gone_ahead = tonumber(gone_ahead), speed = tonumber(speed), speed_at_ms = tonumber(speed_at_ms),
    speed_gone_ahead = tonumber(speed_gone_ahead), absent = tonumber(absent) }
end

local function read_lane(state, lane)
  return parse_lane(lane, hashes.get(state, 'lane_' .. lane))
end

-- Returns the text that it stores.
local function write_lane(state, lane, progress)
  local text = string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f', progress.check_in_through, progress.passed_through,
    progress.gone_ahead, progress.speed, progress.speed_at_ms, progress.speed_gone_ahead, progress.absent)
  hashes.set(state, 'lane_' .. lane, text)
  return text
end

local function write_lanes(state, lanes)
  for lane, progress in pairs(lanes) do
    write_lane(state, lane, progress)
  end
end

-- Returns the lanes that had an entry, by number.
local function read_lanes(state)
  local names, lanes = {}, {}
  for lane = 0, LANES - 1 do
    names[lane + 1] = 'lane_' .. lane
  end
  for i, text in ipairs({ hashes.get_many(state, unpack(names)) }) do
    if text then
      lanes[i - 1] = parse_lane(i - 1, text)
    end
  end
  return lanes
end

-- The first and the last lane with a waiting entry. Some entry has to wait.
local function find_outer_lanes(waiting)
  local first = redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES')
  local last = redis.call('ZRANGE', waiting, -1, -1, 'WITHSCORES')
  return find_lane(first[2]), find_lane(last[2])
end

-- Adds the default lane, and those of waiting entries that had no entry at a tick before.
local function add_new_lanes(waiting, lanes, has_lanes, waiting_count)
  local first, last = LANE_DEFAULT, LANE_DEFAULT
  if has_lanes and waiting_count > 0 then
    first, last = find_outer_lanes(waiting)
  end
  lanes[LANE_DEFAULT] = lanes[LANE_DEFAULT] or parse_lane(LANE_DEFAULT, nil)
  for lane = first, last do
    lanes[lane] = lanes[lane] or parse_lane(lane, nil)
  end
end

local function sum_lanes(lanes, field)
  local sum = 0
  for _, progress in pairs(lanes) do
    sum = sum + progress[field]
  end
  return sum
end

-- Counts the absent entries of all lanes.
local function count_absent(lanes)
  return sum_lanes(lanes, 'absent')
end

-- Counts the entries of a sorted set of places that are above `from` and not above `through`.
local function count_between(set, from, through)
  return redis.call('ZCOUNT', set, string.format('(%.0f', from), string.format('%.0f', through))
end

-- Counts the entries of a sorted set of places that are in a lane before this one.
local function count_before_lane(set, lane)
  return lane == 0 and 0 or redis.call('ZCOUNT', set, '-inf', string.format('(%.0f', find_lane_bottom(lane)))
end

-- The position of a waiting entry in its lane: 1 for the head. Absent entries do not count.
local function find_position(keys, id, place, progress)
  local lane = find_lane(place)
  local own_rank = place <= progress.passed_through and redis.call('ZRANK', keys.present, id)
  if own_rank then
    return own_rank - count_before_lane(keys.present, lane) + 1
  end
  local rank = redis.call('ZRANK', keys.waiting, id) - count_before_lane(keys.waiting, lane)
  return place > progress.passed_through and rank - progress.absent + 1 or rank + 1
end

-- The lowest place of a waiting entry that is not absent; nil if there is none.
local function find_head(waiting, present, lanes)
  local _, head = unpack(redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES'))
  if count_absent(lanes) == 0 then
    return tonumber(head)
  end
  _, head = unpack(redis.call('ZRANGE', present, 0, 0, 'WITHSCORES'))
  head = tonumber(head)
  for lane, progress in pairs(lanes) do
    local _, next_place = unpack(redis.call('ZRANGEBYSCORE', waiting, string.format('(%.0f', progress.passed_through),
      string.format('%.0f', find_lane_top(lane)), 'WITHSCORES', 'LIMIT', 0, 1))
    next_place = tonumber(next_place)
    if next_place and not (head and head < next_place) then
      head = next_place
    end
  end
  return head
end

-- Counts the called entries of all lanes, present or not, without the absent ones.
local function count_called(waiting, lanes)
  local called = 0
  for _, progress in pairs(lanes) do
    called = called + count_between(waiting, progress.passed_through, progress.check_in_through)
  end
  return called
end
