-- Reads and describes places. Include `places` before this file.

-- Whether the place was drawn before the opening. Then it does not tell the visit.
local function is_drawn(place)
  return place % (2 * ORDER_RANGE) < ORDER_RANGE
end

-- A place as replies and journal records have it: the number, or the text `place/visit` if it was drawn.
local function describe_place(place, visit)
  return is_drawn(place) and string.format('%.0f/%.0f', place, visit) or place
end
