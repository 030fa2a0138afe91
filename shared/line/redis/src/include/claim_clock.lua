-- Computes the claim clock, in Unix milliseconds. The deadlines of ready entries are compared with this clock. It
-- stands still while the queue is paused, so a pause takes no time to claim away from a visitor.
local function compute_claim_clock_ms(now_ms, paused, paused_at_ms, paused_ms)
  if paused == '1' then
    return paused_at_ms - paused_ms
  end
  return now_ms - paused_ms
end
