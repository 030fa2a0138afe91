-- Chooses the entries that a tick promotes, and takes them out of the line: the order of the lanes is strict,
-- but of the promotions for which lanes compete, `lane_share` percent go to the lower ones: see
-- docs/adr/0037-lanes.md. Include `lanes` and `marks` before this file.
--
-- The field `lane_turns` of the hash `state` has `credit last_turn lane place since …`: the credit of the lower lanes in
-- hundredths of a promotion, the number of the last turn, and for each lane with a head its place, 0 if that is not known
-- yet, and the turn since which the lane has had it.

local choose_entries
do
  local CREDIT_PER_TURN = 100

  -- Goes along the line behind `place`, for as long as the next entry is the present one at `at` in `head`, or its visitor
  -- has entered and not polled at once: see `call_newcomer` in presence.lua. Moves `own.judged` to the last entry that is
  -- passed by. Returns the index in `head` of the first present entry that is behind any other entry.
  local function pass_silent_newcomers(keys, lane, own, clock, place, head, at)
    local NEWCOMER_SILENCE_MS, LOOKED_AT_MAX = 3000, 500
    local in_line = redis.call('ZRANGEBYSCORE', keys.waiting, string.format('(%.0f', place),
      string.format('%.0f', find_lane_top(lane)), 'WITHSCORES', 'LIMIT', 0, LOOKED_AT_MAX)
    local ids = {}
    for i = 1, #in_line, 2 do
      ids[#ids + 1] = in_line[i]
    end
    for i, seen in ipairs(#ids > 0 and redis.call('ZMSCORE', keys.seen, unpack(ids)) or {}) do
      if ids[i] == head[at] then
        at = at + 2
      elseif seen and tonumber(seen) % 1 ~= 0 and clock.ms + tonumber(seen) >= NEWCOMER_SILENCE_MS then
        own.judged = tonumber(in_line[2 * i])
      else
        return at
      end
    end
    return at
  end

  -- Finds at most `limit` present entries at the head of a lane: none behind the first place whose visitor was called
  -- lately and has not checked in. Returns a list of entries and places, and whether no other entry waits among them behind the
  -- place that the lane has passed.
  local function find_present(keys, lane, progress, own, clock, limit)
    local head = redis.call('ZRANGEBYSCORE', keys.present, string.format('%.0f', find_lane_bottom(lane)),
      string.format('%.0f', find_lane_top(lane)), 'WITHSCORES', 'LIMIT', 0, limit)
    local from = math.max(own.judged, progress.passed_through)
    local is_from_head = from == progress.passed_through
    local at = 1
    while head[at + 1] and tonumber(head[at + 1]) <= from do
      at = at + 2
    end
    -- From here on every waiting entry has to be present. Nearly always all are.
    local in_line = at < #head and redis.call('ZRANGEBYSCORE', keys.waiting, string.format('(%.0f', from), head[#head],
      'LIMIT', 0, (#head - at + 1) / 2) or {}
    for _, id in ipairs(in_line) do
      if head[at] ~= id then
        break
      end
      at = at + 2
    end
    local gapless_through = is_from_head and at - 1 or 0
    from = at > 1 and math.max(from, tonumber(head[at - 1])) or from
    if #head < 2 * limit or at < #head then
      at = pass_silent_newcomers(keys, lane, own, clock, from, head, at)
    end
    return at > #head and head or { unpack(head, 1, at - 1) }, gapless_through >= math.min(at - 1, #head)
  end

  -- Finds at most `limit` entries at the head of a lane, where presence does not matter.
  local function find_waiting(keys, lane, limit)
    return redis.call('ZRANGEBYSCORE', keys.waiting, string.format('%.0f', find_lane_bottom(lane)),
      string.format('%.0f', find_lane_top(lane)), 'WITHSCORES', 'LIMIT', 0, limit)
  end

  -- Counts that the head of a lane goes to `through`, before the `promoted` entries (a list of entries and places) are
  -- removed from `waiting`. `is_gapless` tells that those are all that it goes by, so that no count is needed. Returns whether
  -- they are.
  local function pass_through(keys, progress, through, promoted, is_gapless)
    local behind = 0
    while promoted[2 * behind + 2] and tonumber(promoted[2 * behind + 2]) <= progress.passed_through do
      behind = behind + 1
    end
    through = math.max(progress.passed_through, through)
    local went_by = is_gapless and #promoted / 2 - behind
      or count_between(keys.waiting, progress.passed_through, through)
    progress.gone_ahead = progress.gone_ahead + went_by + behind
    progress.absent = progress.absent + went_by - (#promoted / 2 - behind)
    progress.passed_through = through
    return behind == 0 and went_by == #promoted / 2
  end

  -- Takes the entries in `head`, a list of entries and places, out of the line.
  local function take(keys, lane, progress, clock, head, is_gapless)
    local ids, are_first, last_place = {}, true, head[#head]
    for i = 1, #head, 2 do
      ids[#ids + 1] = head[i]
    end
    -- Where the lane begins: behind the place that it has passed, or with its lowest place.
    local from = clock and string.format('(%.0f', progress.passed_through) or string.format('%.0f', find_lane_bottom(lane))
    if clock then
      are_first = pass_through(keys, progress, tonumber(last_place), head, is_gapless)
      redis.call('ZREMRANGEBYSCORE', keys.present, string.format('%.0f', find_lane_bottom(lane)), last_place)
      redis.call('ZREM', keys.seen, unpack(ids))
    else
      progress.gone_ahead = progress.gone_ahead + #ids
      progress.passed_through = math.max(progress.passed_through, tonumber(last_place))
    end
    -- A range without other entries is removed faster than one entry after the other.
    if are_first then
      redis.call('ZREMRANGEBYSCORE', keys.waiting, from, last_place)
    else
      redis.call('ZREM', keys.waiting, unpack(ids))
    end
  end

  local function read_turns(state)
    local numbers = parse_marks(hashes.get(state, 'lane_turns'))
    local turns = { credit = numbers[1] or 0, last = numbers[2] or 0, heads = {} }
    for i = 3, #numbers, 3 do
      turns.heads[numbers[i]] = { place = numbers[i + 1], since = numbers[i + 2] }
    end
    return turns
  end

  local function write_turns(state, turns)
    local numbers = { turns.credit, turns.last }
    for lane = 0, LANES - 1 do
      local head = turns.heads[lane]
      if head then
        local count = #numbers
        numbers[count + 1], numbers[count + 2], numbers[count + 3] = lane, head.place, head.since
      end
    end
    hashes.set(state, 'lane_turns', format_marks(numbers))
  end

  -- Notes which entries are at the heads of the lanes. `found` has a list of entries and places for each lane.
  local function note_heads(turns, found)
    for lane = 0, LANES - 1 do
      local head, place = turns.heads[lane], found[lane] and tonumber(found[lane][2])
      if not place then
        turns.heads[lane] = nil
      elseif head and head.place == 0 then
        head.place = place
      elseif not head or head.place ~= place then
        turns.last = turns.last + 1
        turns.heads[lane] = { place = place, since = turns.last }
      end
    end
  end

  -- Divides at most `limit` promotions among the lanes. Returns how many each gets.
  local function divide(turns, found, share, limit)
    local counts, order = {}, {}
    for lane = 0, LANES - 1 do
      if found[lane] and #found[lane] > 0 then
        counts[lane], order[#order + 1] = 0, lane
      end
    end
    while limit > 0 do
      local first, lower
      for _, lane in ipairs(order) do
        if counts[lane] < #found[lane] / 2 then
          if not first then
            first = lane
          elseif not lower or turns.heads[lane].since < turns.heads[lower].since then
            lower = lane
          end
        end
      end
      if not first then
        return counts
      end
      local lane, count = first, 1
      if not lower then
        count = math.min(limit, #found[first] / 2 - counts[first])
      else
        turns.credit = turns.credit + share
        if turns.credit >= CREDIT_PER_TURN then
          lane, turns.credit = lower, turns.credit - CREDIT_PER_TURN
        end
      end
      counts[lane], limit, turns.last = counts[lane] + count, limit - count, turns.last + 1
      turns.heads[lane] = { place = 0, since = turns.last }
    end
    return counts
  end

  -- Finds the entries of each lane that may be promoted: as many as can get one of `limit` promotions, and one more, so that
  -- the lane still competes after its last turn. Returns a list of entries and places for each lane, and which lists are
  -- gapless: see `find_present`.
  local function find_candidates(keys, lanes, clock, calls, share, credit, limit)
    local of_lower_lanes = math.floor((credit + share * limit) / CREDIT_PER_TURN)
    local found, is_gapless, left = {}, {}, limit
    for lane = 0, LANES - 1 do
      local progress = lanes[lane]
      if progress then
        local wanted = math.min(of_lower_lanes + left + 1, limit)
        if clock then
          found[lane], is_gapless[lane] = find_present(keys, lane, progress, calls[lane], clock, wanted)
        else
          found[lane] = find_waiting(keys, lane, wanted)
        end
        left = math.max(left - #found[lane] / 2, 0)
      end
    end
    return found, is_gapless
  end

  -- Chooses at most `limit` entries to promote: present ones if there is a presence `clock`, else the first ones. The lanes
  -- have their turns in order, but the lower ones at least those of `lane_share`. If all lanes are exhausted, goes past
  -- those who were called long enough ago and are absent. Returns a list of entries and places, in order.
  choose_entries = function(keys, config, lanes, has_other_lanes, clock, calls, limit)
    local share = has_other_lanes and tonumber(hashes.get(config, 'lane_share') or 0) or 0
    local turns = has_other_lanes and read_turns(keys.state) or { credit = 0, last = 0, heads = {} }
    local found, is_gapless = find_candidates(keys, lanes, clock, calls, share, turns.credit, limit)
    note_heads(turns, found)
    local counts = divide(turns, found, share, limit)
    if has_other_lanes then
      write_turns(keys.state, turns)
    end
    local chosen = {}
    for lane = 0, LANES - 1 do
      local count = counts[lane] or 0
      if count > 0 then
        local head = 2 * count < #found[lane] and { unpack(found[lane], 1, 2 * count) } or found[lane]
        take(keys, lane, lanes[lane], clock, head, is_gapless[lane])
        for i = 1, #head do
          chosen[#chosen + 1] = head[i]
        end
      end
    end
    if clock and #chosen / 2 < limit then
      for lane, progress in pairs(lanes) do
        if calls[lane].judged > progress.passed_through then
          pass_through(keys, progress, calls[lane].judged, {})
        end
      end
    end
    return chosen
  end
end
