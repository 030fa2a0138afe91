-- Reads what the hash `visits` stores of an entry: `visit step`, or for an entry that has its first turn its place
-- alone, because `promote` has that as text. An active entry has `visit 4 began_at_ms`, the line time at which its
-- session began, if that is known. One that the fast track admitted has `fast` right behind it until its visitor claims
-- or extends the session: the backup may lack that visit, and may have an earlier one that goes on. An entry whose slot
-- is held has `visit 5 left` or `visit 5 evicted`. A waiting entry whose place was drawn has `visit 0`, and one that an
-- operator moved to another lane has `visit step moved_at_ms`, with the line time of the last move.

local function is_place(text)
  return not string.find(text, ' ', 1, true)
end

-- Returns the visit, the step, the name of the sorted set that holds such an entry, whether it is only known to be
-- admitted by the fast track, how its visit ended if its slot is held, and when it was moved to another lane if it waits,
-- or when its session began if it is active.
-- A waiting entry in its first lane whose place was not drawn is not in `visits`: then the visit is nil, because the place
-- tells it. The steps are 0 waiting, 1 ready, 2 waiting again, 3 ready again,
-- 4 active, 5 held: see domain/fact.rs.
local function parse_visit(text)
  if not text then
    return nil, 0, 'waiting', false
  end
  if is_place(text) then
    return tonumber(text) % ORDER_RANGE, 1, 'ready', false
  end
  local visit, step, how = string.match(text, '^(%d+) (%d+) ?(%w*)$')
  step = tonumber(step)
  local set = step == 4 and 'active' or (step == 0 or step == 2) and 'waiting' or step == 5 and 'held' or 'ready'
  return tonumber(visit), step, set, set == 'active' and string.sub(how, -4) == 'fast', set == 'held' and how or nil,
    tonumber(string.match(how, '^%d+'))
end
