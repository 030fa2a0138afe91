-- The entrance in force: the setting `entrance`, and what the settings `closes_at_ms` and `ends_at_ms` make of it. The rule
-- is `Settings::entrance_at` in domain/settings/derived.rs.

-- Returns the entrance that is set, without the reason of an end, and the first moment from which the queue may have another
-- one, in Unix milliseconds; nil if there is none. From then on, enter.lua decides about every visitor who enters. In the mode
-- `passthrough` it always does, so the moment is 0.
local function parse_entrance(entrance, closes_at_ms, ends_at_ms, mode)
  if entrance == 'sold_out' or entrance == 'cancelled' then
    entrance = 'finished'
  end
  if mode == 'passthrough' then
    return entrance, 0
  end
  closes_at_ms, ends_at_ms = tonumber(closes_at_ms), tonumber(ends_at_ms)
  if closes_at_ms > 0 and (ends_at_ms == 0 or closes_at_ms < ends_at_ms) then
    return entrance, closes_at_ms
  end
  return entrance, ends_at_ms > 0 and ends_at_ms or nil
end

-- Returns the entrance in force at `now_ms`, and the moment of parse_entrance.
local function read_entrance(config, now_ms)
  local set, closes_at_ms, ends_at_ms, mode =
    hashes.get_many(config, 'entrance', 'closes_at_ms', 'ends_at_ms', 'mode')
  local entrance, changes_at_ms = parse_entrance(set, closes_at_ms, ends_at_ms, mode)
  closes_at_ms, ends_at_ms = tonumber(closes_at_ms), tonumber(ends_at_ms)
  if ends_at_ms > 0 and now_ms >= ends_at_ms then
    return 'finished', changes_at_ms
  elseif entrance == 'open' and closes_at_ms > 0 and now_ms >= closes_at_ms then
    return 'draining', changes_at_ms
  end
  return entrance, changes_at_ms
end
