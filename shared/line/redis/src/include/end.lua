-- An end that the backup may not have, as `ended` holds it: epoch, v, visit, how and when. See end.rs.
local function end_text(epoch, v, visit, how, at_ms)
  return string.format('%.0f %.0f %.0f %s %.0f', epoch, v, visit, how, at_ms)
end
