-- Computes how the totals of a queue compare with its entries: visits that began or returned, less those that ended, less
-- the entries in the sets. The number stays the same until Redis loses entries: see line/answers/loss.rs.
local function compute_imbalance(waiting, ready, active, state, line)
  local returned, no_shows, completed, left, evicted, expired, absences, dismissed, overlong_waits =
    hashes.get_many(state, 'returned', 'no_shows', 'completed', 'left', 'evicted', 'expired', 'absences',
    'dismissed', 'overlong_waits')
  local entries = redis.call('ZCARD', waiting) + redis.call('ZCARD', ready) + redis.call('ZCARD', active)
  return line.entered + (returned or 0) - (no_shows or 0) - (completed or 0) - (left or 0) - (evicted or 0)
    - (expired or 0) - (absences or 0) - (dismissed or 0) - (overlong_waits or 0) - entries
end
