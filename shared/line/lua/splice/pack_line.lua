-- Writes the locals that unpack_line.lua reads into the local `packed`.
local format = queue_limit and '<ddddddddBsd' or '<ddddddddBs'
local limit = queue_limit
if entrance_changes_at_ms then
  format, limit = '<ddddddddBsdd', queue_limit or math.huge
end
packed = struct.pack(format, v, last_order, entered, offset_ms, heartbeat_ms, epoch, absent, newcomers_called, flags,
  entrance, limit, entrance_changes_at_ms)
