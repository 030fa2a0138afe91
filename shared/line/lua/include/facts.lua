-- Compares facts about an entry: see domain/fact.rs. A fact is a table with `visit`, `step`, `step_ms` and `is_over`.

-- Whether the fact is less than the other one, so the earlier one.
local function is_earlier_fact(fact, other)
  if fact.visit ~= other.visit then
    return fact.visit < other.visit
  elseif fact.step ~= other.step then
    return fact.step < other.step
  elseif fact.step_ms ~= other.step_ms then
    return fact.step_ms < other.step_ms
  end
  return other.is_over and not fact.is_over
end
