-- Line time in Unix microseconds: the server's, but never before the last change, even where the clock goes back.
-- `given` is empty but for tests.
local function line_time_us(given, v)
  local us = tonumber(given)
  if not us then
    local time = redis.call('TIME')
    us = time[1] * 1000000 + time[2]
  end
  return math.max(us, v)
end

-- The version of a change made now.
local function next_version(us, v)
  return math.max(v + 1, us)
end

local ERA_MS = 1735689600000 -- 2025-01-01

local function deadline_score(deadline_ms, visit)
  return (deadline_ms - ERA_MS) * 4096 + visit
end

local function deadline_of(score)
  return math.floor(score / 4096) + ERA_MS
end

-- Every score below it has a deadline that has come. Written out, since Lua's own way would round it.
local function due_bound(now_ms)
  return string.format('(%.0f', deadline_score(now_ms + 1, 0))
end
