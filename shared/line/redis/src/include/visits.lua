-- Reads what the hash `visits` stores of an entry: `visit step`, or for an entry that has its first turn its place
-- alone, because `promote` has that as text.

local function is_place(text)
  return not string.find(text, ' ', 1, true)
end

-- Returns the visit, the step, and the name of the sorted set that holds such an entry. A plain waiting entry is not in
-- `visits`: then the visit is nil, because the place tells it. The steps are 0 waiting, 1 ready, 2 waiting again, 3
-- ready again, 4 active: see domain/fact.rs.
local function parse_visit(text)
  if not text then
    return nil, 0, 'waiting'
  end
  if is_place(text) then
    return tonumber(text) % ORDER_RANGE, 1, 'ready'
  end
  local visit, step = string.match(text, '^(%d+) (%d+)$')
  step = tonumber(step)
  return tonumber(visit), step, step == 4 and 'active' or step == 2 and 'waiting' or 'ready'
end
