-- Computes how the totals of a queue compare with its entries: visits that began or returned, less those that ended, less
-- the entries in the sets. The number stays the same until Redis loses entries: see line/answers/loss.rs.
-- `entries` is how many are in the sets.
local function compute_imbalance(entries, state, line)
  local returned, no_shows, completed, left, evicted, expired, absences, dismissed, overlong_waits =
    hashes.get_many(state, 'returned', 'no_shows', 'completed', 'left', 'evicted', 'expired', 'absences',
    'dismissed', 'overlong_waits')
  return line.entered + returned - no_shows - completed - left - evicted - expired - absences - dismissed - overlong_waits
    - entries
end
