-- Formats an end as the hash `ended` stores it: `epoch v visit how at_ms`. end.rs reads it.
local function format_end(epoch, v, visit, how, at_ms)
  return string.format('%.0f %.0f %.0f %s %.0f', epoch, v, visit, how, at_ms)
end
