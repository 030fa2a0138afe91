-- Reads and writes the field `line` of the hash `state`. It has in one value what every request to enter reads or
-- changes. Redis finds and stores one field faster than seven: see docs/adr/0020-packed-fields-of-the-line.md. Only the
-- files unpack_line.lua and pack_line.lua in splice/ know its format.

-- Returns the fields, one after the other; nil if Redis does not have the queue:
--   v: the queue's last version, in microseconds
--   last_order: the visit of the last place that was given
--   entered: how many visits began
--   offset_ms: what is added to the server's clock, in milliseconds
--   heartbeat_ms: the line time of the promoter's last tick, in Unix milliseconds; 0 if the promoter is parked
--   absent: how many entries were absent after the last tick
--   newcomers_called: how many more visitors are called by entering, so check in by it; -1 while presence is off
--   journal_full: 1 if the journal had no room for newcomers at the last tick, else 0
--   has_lanes: whether an entry had another lane than the default one since the queue was created or restored. It is
--     packed with journal_full, as 2
--   epoch, entrance: as in the hash `config`, so that entering does not read that one too
--   queue_limit: as there; nil if the line has no limit
--   entrance_changes_at_ms: from this moment on, enter.lua decides (entrance.lua), in Unix milliseconds; nil if there is no
--     such moment, and 0 in the mode `passthrough`. Where it is, an infinite queue_limit stands for none.
local function unpack_line_fields(state)
  local packed = hashes.get(state, 'line')
  -- splice: unpack_line
  if not v then
    return nil
  end
  return v, last_order, entered, offset_ms, heartbeat_ms, epoch, absent, newcomers_called, flags % 2, entrance,
    queue_limit, entrance_changes_at_ms, flags >= 2
end

local function pack_line_fields(state, v, last_order, entered, offset_ms, heartbeat_ms, epoch, absent, newcomers_called,
    journal_full, entrance, queue_limit, entrance_changes_at_ms, has_lanes)
  local flags = has_lanes and journal_full + 2 or journal_full
  local packed
  -- splice: pack_line
  hashes.set(state, 'line', packed)
end
