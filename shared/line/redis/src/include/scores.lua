-- Encodes and decodes the scores of the sorted sets. The layout is the one in domain/score.rs:
--   waiting        a place:    lane (3 bits), phase (1 bit), order (49 bits: 41 of milliseconds, 8 of arrivals)
--   ready, active  a deadline: milliseconds (41 bits), visit (12 bits), so `score % VISITS` is the visit
-- Each score is an integer below 2^53, which a double holds exactly.
-- Redis creates the functions of a script anew for each call, and allocates each constant that one of them captures. So
-- the functions here use few constants, and what only one script needs is in that script.
local ERA_MS = 1735689600000 -- 2025-01-01T00:00:00Z: scores count milliseconds from this moment
local MS_RANGE = 2199023255552 -- 2^41: the milliseconds that a score can hold
local ARRIVALS_PER_MS = 256 -- arrivals of one millisecond that have an order of their own
local ORDER_RANGE = MS_RANGE * ARRIVALS_PER_MS -- 2^49: the orders that a place can hold
local PHASE_OPEN = ORDER_RANGE -- the phase bit of a place that was given after the queue opened
local VISITS = 4096 -- visit numbers count modulo this

-- Makes the score of a ready or active entry from its deadline (Unix milliseconds) and its visit.
local function encode_deadline(deadline_ms, visit)
  return (deadline_ms - ERA_MS) * VISITS + visit
end

-- Returns the deadline in the score of a ready or active entry, in Unix milliseconds.
local function decode_deadline_ms(score)
  return math.floor(score / VISITS) + ERA_MS
end

-- Returns the visit that begins with a place. It combines the millisecond and the arrivals within it.
local function derive_visit(place)
  return (math.floor(place / ARRIVALS_PER_MS) + place % ARRIVALS_PER_MS * (VISITS / ARRIVALS_PER_MS)) % VISITS
end
