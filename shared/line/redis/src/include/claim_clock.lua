-- The moment that deadlines of ready entries are compared with: it stands still while the queue is paused.
local function claim_clock_ms(now_ms, paused, paused_at_ms, paused_ms)
  if paused == '1' then
    return paused_at_ms - paused_ms
  end
  return now_ms - paused_ms
end
