-- Scores, as domain/score.rs has them: bits of a place, deadlines with the visit that they belong to.
local ERA_MS = 1735689600000 -- 2025-01-01

local function deadline_score(deadline_ms, visit)
  return (deadline_ms - ERA_MS) * 4096 + visit
end

local function deadline_of(score)
  return math.floor(score / 4096) + ERA_MS
end

-- The visit that begins with a place: from the millisecond and from the count within it.
local function visit_of(score)
  return (math.floor(score / 256) + score % 256 * 16) % 4096
end

-- When the entry with this place joined.
local function joined_at_ms(score)
  return math.floor(score / 256) % 2199023255552 + ERA_MS
end
