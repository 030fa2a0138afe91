-- Maintains the windows that the moving averages are computed from: see domain/estimate/windows.rs. A window stores the
-- totals at its beginning and at the beginning of the window before it.

-- Begins a new window with the totals in `counted`, if the current one, which began at `began_at_ms`, is over.
local function rotate_window(state, window, length_ms, began_at_ms, counted)
  local age_ms = counted.at_ms - began_at_ms
  if began_at_ms > 0 and age_ms < length_ms then
    return
  end
  local is_fresh = began_at_ms > 0 and age_ms < 2 * length_ms
  local names = { 'at_ms', 'served', 'gone', 'expired', 'no_shows', 'left', 'passed_over', 'taken_seconds',
    'waiting_seconds', 'paced', 'paced_seconds' }
  local fields = {}
  for _, name in ipairs(names) do
    local field = window .. '_' .. name
    local before = is_fresh and hashes.get(state, field) or counted[name]
    local count = #fields
    fields[count + 1], fields[count + 2] = field, counted[name]
    fields[count + 3], fields[count + 4] = window .. '_before_' .. name, before
  end
  hashes.set(state, unpack(fields))
end

-- Begins a new short and a new long window if they are over. `gone_ahead` is that of all lanes. `sums` has the fields
-- `taken_seconds`, `waiting_seconds`, `paced` and `paced_seconds` up to now.
local function rotate_windows(state, line, now_ms, short_ms, long_ms, in_line, taken, gone_ahead, sums)
  local short_at_ms, long_at_ms = hashes.get_many(state, 'short_at_ms', 'long_at_ms')
  short_at_ms, long_at_ms = tonumber(short_at_ms or 0), tonumber(long_at_ms or 0)
  if short_at_ms > 0 and now_ms - short_at_ms < short_ms and long_at_ms > 0 and now_ms - long_at_ms < long_ms then
    return
  end
  local returned, offset, fast_tracked, bypassed, promoted, expired, no_shows = hashes.get_many(state, 'returned',
    'gone_ahead_offset', 'fast_tracked', 'bypassed', 'promoted', 'expired', 'no_shows')
  local served = fast_tracked + bypassed + promoted
  local counted = {
    at_ms = now_ms,
    served = served,
    gone = served - taken,
    expired = tonumber(expired),
    no_shows = tonumber(no_shows),
    left = line.entered + returned - served - in_line,
    passed_over = gone_ahead + (offset or 0) - promoted,
    taken_seconds = sums.taken_seconds,
    waiting_seconds = sums.waiting_seconds,
    paced = sums.paced,
    paced_seconds = sums.paced_seconds,
  }
  rotate_window(state, 'short', short_ms, short_at_ms, counted)
  rotate_window(state, 'long', long_ms, long_at_ms, counted)
end
