-- The pace bucket after time has passed, in credit (entries times milliseconds): see domain/pace.rs.
local function refilled(credit, at_ms, now_ms, batch, interval_ms)
  local elapsed_ms = math.min(math.max(now_ms - at_ms, 0), interval_ms)
  return math.min(credit + elapsed_ms * batch, batch * interval_ms)
end
