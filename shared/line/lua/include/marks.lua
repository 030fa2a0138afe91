-- Keeps marks: which place a moving boundary had, and since when by the presence clock, as `ms place ms place …` with the
-- oldest first.

local function parse_marks(text)
  local marks = {}
  for number in string.gmatch(text or '', '%d+') do
    marks[#marks + 1] = tonumber(number)
  end
  return marks
end

local function format_marks(marks)
  local texts = {}
  for i, number in ipairs(marks) do
    texts[i] = string.format('%.0f', number)
  end
  return table.concat(texts, ' ')
end

-- Adds a mark if the place has changed, at most one per `every_ms`. Forgets marks that were replaced more than `kept_ms`
-- ago.
local function add_mark(marks, clock_ms, place, every_ms, kept_ms)
  local count = #marks
  if count == 0 or (marks[count] ~= place and clock_ms >= marks[count - 1] + every_ms) then
    marks[count + 1], marks[count + 2] = clock_ms, place
  end
  while marks[3] and marks[3] + kept_ms <= clock_ms do
    table.remove(marks, 1)
    table.remove(marks, 1)
  end
end

-- Finds the mark that was in force at this time. Returns its index; nil if the marks are younger.
local function find_mark(marks, at_ms)
  for i = #marks - 1, 1, -2 do
    if marks[i] <= at_ms then
      return i
    end
  end
end

-- The lowest place that the boundary had since `since_ms`; nil if the marks are younger.
local function find_lowest_mark(marks, since_ms)
  local first = find_mark(marks, since_ms)
  if not first then
    return nil
  end
  local lowest = marks[first + 1]
  for i = first + 3, #marks, 2 do
    lowest = math.min(lowest, marks[i])
  end
  return lowest
end
