-- Computes the claim clock, in Unix milliseconds. The deadlines of ready entries are compared with this clock. It
-- stands still while the queue is paused and while the front door is down, so neither takes time to claim away from a
-- visitor. `paused_ms` is the length of both in the past.
local function compute_claim_clock_ms(now_ms, paused, paused_at_ms, paused_ms)
  if paused == '1' then
    return paused_at_ms - paused_ms
  end
  return now_ms - paused_ms
end
