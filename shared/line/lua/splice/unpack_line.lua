-- Reads the local `packed`, the field `line` of the hash `state`, into locals; v is nil if Redis does not have the queue.
local v, last_order, entered, offset_ms, heartbeat_ms, epoch, absent, newcomers_called, flags, entrance, next_at
local queue_limit, entrance_changes_at_ms
if packed then
  v, last_order, entered, offset_ms, heartbeat_ms, epoch, absent, newcomers_called, flags, entrance, next_at =
    struct.unpack('<ddddddddBs', packed)
  if next_at <= #packed then
    queue_limit, next_at = struct.unpack('<d', packed, next_at)
    if next_at <= #packed then
      entrance_changes_at_ms = struct.unpack('<d', packed, next_at)
      queue_limit = queue_limit < math.huge and queue_limit or nil
    end
  end
end
