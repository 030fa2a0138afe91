-- Ends waits that have lasted longer than the setting `waiting_seconds_max` allows. The field `moving_since_ms` of the hash
-- `state` has the line time of the last tick that found that the queue stood still, or of its creation or restore. No wait
-- counts as longer than since then, or since the opening. The wait for a second turn never ends so: the grace has promised
-- the old place. Include `dismissals`, `opening` and `visits` before this file.

local end_overlong_waits
-- A script has at most 200 locals at once, so what only this function needs is in its block.
do
  local WAITING_AGAIN = 2 -- the step of an entry that waits for its second turn

  -- Finds at most `limit` entries whose waits began by `begun_by_ms`, the oldest first. Those of drawn entries began with
  -- the opening. Returns a list of tables with `id` and `place`.
  local function find_overlong_waits(keys, lanes, begun_by_ms, limit)
    local overlong = {}
    local places_max = PHASE_OPEN + (begun_by_ms - ERA_MS + 1) * ARRIVALS_PER_MS
    for lane in pairs(lanes) do
      local bottom = find_lane_bottom(lane)
      local of_lane = redis.call('ZRANGEBYSCORE', keys.waiting, string.format('(%.0f', bottom),
        string.format('(%.0f', bottom + places_max), 'WITHSCORES', 'LIMIT', 0, limit)
      for i = 1, #of_lane, 2 do
        overlong[#overlong + 1] = { id = of_lane[i], place = tonumber(of_lane[i + 1]) }
      end
    end
    table.sort(overlong, function(one, other)
      local one_order, other_order = one.place % LANE_PLACES, other.place % LANE_PLACES
      return one_order < other_order or (one_order == other_order and one.place < other.place)
    end)
    for i = #overlong, limit + 1, -1 do
      overlong[i] = nil
    end
    return overlong
  end

  -- Counts that the heads of the lanes went past these entries, so that visitors who follow the public document learn of
  -- it. Absent ones were passed before. The speed of a lane counts turns only. No head goes past the first entry of its lane
  -- that goes on: `first_kept` has its place.
  local function pass_ended_waits(keys, lanes, ids, places, first_kept)
    local presents = redis.call('ZMSCORE', keys.present, unpack(ids))
    for i, place in ipairs(places) do
      local lane = find_lane(place)
      local progress = lanes[lane]
      if progress.absent > 0 and not presents[i] and place <= progress.passed_through then
        progress.absent = progress.absent - 1
      else
        progress.gone_ahead, progress.speed_gone_ahead = progress.gone_ahead + 1, progress.speed_gone_ahead + 1
      end
      progress.passed_through = math.max(progress.passed_through, math.min(place, (first_kept[lane] or math.huge) - 1))
    end
  end

  -- Ends at most `limit` waits that have lasted too long, the oldest first. If the queue `is_standing` still, no wait ends,
  -- and every visitor in line has the whole time again from now on. Returns how many ended, and their part of the journal
  -- record.
  function end_overlong_waits(keys, tick, lanes, config, is_standing, limit)
    if is_standing then
      hashes.set(keys.state, 'moving_since_ms', tick.now_ms)
      return 0, ''
    end
    local waiting_seconds_max = tonumber(hashes.get(config, 'waiting_seconds_max'))
    if waiting_seconds_max == 0 or limit <= 0 then
      return 0, ''
    end
    local begun_by_ms, opens_at_ms = tick.now_ms - waiting_seconds_max * 1000, read_opening(config)
    local moving_since_ms = tonumber(hashes.get(keys.state, 'moving_since_ms'))
    if begun_by_ms < moving_since_ms or (opens_at_ms <= tick.now_ms and begun_by_ms < opens_at_ms) then
      return 0, ''
    end
    local ids, places, first_kept = {}, {}, {}
    for _, wait in ipairs(find_overlong_waits(keys, lanes, begun_by_ms, limit)) do
      local lane, _, step = find_lane(wait.place), parse_visit(redis.call('HGET', keys.visits, wait.id))
      if step ~= WAITING_AGAIN then
        ids[#ids + 1], places[#places + 1] = wait.id, wait.place
      else
        first_kept[lane] = first_kept[lane] or wait.place
      end
    end
    if #ids == 0 then
      return 0, ''
    end
    pass_ended_waits(keys, lanes, ids, places, first_kept)
    for _, set in ipairs({ keys.waiting, keys.present, keys.seen }) do
      redis.call('ZREM', set, unpack(ids))
    end
    return #ids, store_ended_waits(keys, tick, ids, places, 'overlong-wait', 'overlong_waits')
  end
end
