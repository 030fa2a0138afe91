-- The opening of a queue: see domain/opening.rs, which has the same rules. The fields `opens_at_ms` and `opened_at_ms` of the
-- hash `config` are 0 if there is no such moment.

-- Returns both moments, in Unix milliseconds.
local function read_opening(config)
  local opens_at_ms, opened_at_ms = hashes.get_many(config, 'opens_at_ms', 'opened_at_ms')
  return tonumber(opens_at_ms), tonumber(opened_at_ms)
end

-- Whether the queue has not opened yet.
local function is_scheduled(config, now_ms)
  local opens_at_ms, opened_at_ms = read_opening(config)
  return opened_at_ms == 0 and opens_at_ms > now_ms
end

-- Records the opening if it is due, the time is trusted, and the queue has had a visit: until then no visitor knows of the
-- opening, and it may be moved. Returns whether the queue has not opened yet.
local function open_if_due(config, now_ms, clocks_apart, has_visits)
  local opens_at_ms, opened_at_ms = read_opening(config)
  if opens_at_ms == 0 or opened_at_ms > 0 then
    return false
  elseif opens_at_ms > now_ms then
    return true
  elseif has_visits and not clocks_apart then
    hashes.set(config, 'opened_at_ms', string.format('%.0f', opens_at_ms))
  end
  return false
end
