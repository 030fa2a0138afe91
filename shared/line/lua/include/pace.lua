-- Refills the pace bucket for the time that has passed. Returns its level at `now_ms` in credit, which is entries times
-- milliseconds of an interval: see domain/pace.rs. The bucket holds one batch at most.
local function refill_credit(credit, at_ms, now_ms, batch, interval_ms)
  local elapsed_ms = math.min(math.max(now_ms - at_ms, 0), interval_ms)
  return math.min(credit + elapsed_ms * batch, batch * interval_ms)
end
