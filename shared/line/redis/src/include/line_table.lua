-- Reads and writes the fields of line.lua as a table by their names. Include `line` before this file. append_to_line.lua
-- does without the table, because making one takes a twentieth of its time.

-- Returns nil if Redis does not have the queue.
local function read_line_fields(state)
  local v, last_order, entered, offset_ms, heartbeat_ms, epoch, absent, newcomers_called, journal_full, entrance =
    unpack_line_fields(state)
  return v and { v = v, last_order = last_order, entered = entered, offset_ms = offset_ms, heartbeat_ms = heartbeat_ms,
    epoch = epoch, absent = absent, newcomers_called = newcomers_called, journal_full = journal_full,
    entrance = entrance }
end

local function write_line_fields(state, line)
  pack_line_fields(state, line.v, line.last_order, line.entered, line.offset_ms, line.heartbeat_ms, line.epoch,
    line.absent, line.newcomers_called, line.journal_full, line.entrance)
end
