-- What a tick does about presence while the queue has not opened yet. Include `lanes` before this file.

-- Calls no visitor and forgets who checked in. Returns how many more visitors are called by entering: none.
local function call_none(keys, lanes)
  redis.call('UNLINK', keys.present, keys.seen)
  for lane, progress in pairs(lanes) do
    progress.check_in_through = find_lane_bottom(lane)
  end
  return -1
end
