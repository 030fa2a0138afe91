-- The entrance in force: the setting `entrance`, and what the settings `closes_at_ms` and `ends_at_ms` make of it. The rule
-- is `Settings::entrance_at` in domain/settings/derived.rs.

-- Returns the first moment from which a queue of this configuration may have another entrance than the one that is set, in
-- Unix milliseconds; nil if there is none. From then on, enter.lua decides about every visitor who enters. In the mode
-- `passthrough` it always does, so the moment is 0.
local function find_entrance_change_ms(closes_at_ms, ends_at_ms, mode)
  if mode == 'passthrough' then
    return 0
  end
  closes_at_ms, ends_at_ms = tonumber(closes_at_ms), tonumber(ends_at_ms)
  if closes_at_ms > 0 and (ends_at_ms == 0 or closes_at_ms < ends_at_ms) then
    return closes_at_ms
  end
  return ends_at_ms > 0 and ends_at_ms or nil
end

-- Returns the entrance in force at `now_ms`, and the moment of find_entrance_change_ms.
local function read_entrance(config, now_ms)
  local entrance, closes_at_ms, ends_at_ms, mode =
    hashes.get_many(config, 'entrance', 'closes_at_ms', 'ends_at_ms', 'mode')
  local changes_at_ms = find_entrance_change_ms(closes_at_ms, ends_at_ms, mode)
  closes_at_ms, ends_at_ms = tonumber(closes_at_ms), tonumber(ends_at_ms)
  if ends_at_ms > 0 and now_ms >= ends_at_ms then
    return 'finished', changes_at_ms
  elseif entrance == 'open' and closes_at_ms > 0 and now_ms >= closes_at_ms then
    return 'draining', changes_at_ms
  end
  return entrance, changes_at_ms
end
