-- The place of a waiting entry, as domain/score.rs lays it out: lane (3 bits), phase (1 bit), order (49 bits: 41 of
-- milliseconds, 8 of arrivals). The order is also the number of the visit that begins with the place.
-- A place is an integer below 2^53, which a double holds exactly. Lua's own conversion to text loses the last digits of
-- such a number, so scripts write numbers by string.format('%.0f').
local ERA_MS = 1735689600000 -- 2025-01-01T00:00:00Z: orders count milliseconds from this moment
local ARRIVALS_PER_MS = 256 -- arrivals of one millisecond that have an order of their own
local ORDER_RANGE = 562949953421312 -- 2^49: the orders that a place can hold
local PHASE_OPEN = ORDER_RANGE -- the phase bit of a place that was given after the queue opened
local LANE_PLACES = 2 * ORDER_RANGE -- 2^50: the places of one lane
local LANE_DEFAULT = 4 -- the lane of an entry that was assigned none; lane 0 is served first
