-- Gives places to arrivals. Include `places` before this file.

-- Returns the order of an arrival at `now_ms`, where `last_order` is the queue's last one: see domain/score.rs.
local function next_order(now_ms, last_order)
  local order = (now_ms - ERA_MS) * ARRIVALS_PER_MS
  return order > last_order and order or last_order + 1
end
