-- Stores that a consistency check is due if Redis has lost changes: see line/answers/loss.rs. Include `imbalance` before
-- this file. `loss_sign` is what has shown a loss already, or ''. Returns the sign, '' if there is none, and when a check
-- became due, in Unix milliseconds; 0 if none is.
local function compare_imbalance(imbalance, checked_imbalance, loss_sign, check_due_ms, state, now_ms)
  if loss_sign == '' and check_due_ms == 0 and imbalance ~= tonumber(checked_imbalance) then
    loss_sign = 'imbalance'
  end
  if loss_sign ~= '' then
    -- What a check under way has compared may have been lost since, so the next check begins anew.
    check_due_ms = now_ms
    hashes.set(state, 'check_due_ms', check_due_ms, 'check_heard_ms', 0, 'check_shards', 0)
  end
  return loss_sign, check_due_ms
end
