#!lua
-- Appends an entry to the line, or says where in the line it already is: what a visitor of a crowd gets by entering.
-- Crowds call this script, so it does nothing else, with few keys and few commands. Whatever else may be due (a fast
-- track, the end of an earlier visit, a refusal) is left to enter.lua, which can do all. Then this script writes nothing.
-- include: versions places arrivals
-- KEYS: waiting visits state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms id
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
-- Output: {'no-queue'}: Redis does not have the queue
--         {'other'}: enter.lua has to decide
--         {'full'}: the entry gets no place, because as many wait as the queue allows; nothing has changed
--         packed 'new' | 'kept', epoch, v, place, position, now_ms: the entry has a new place, or keeps the one it had. This
--           is one text: the word, a zero byte, and integers of 8 bytes
local waiting, visits, state = KEYS[1], KEYS[2], KEYS[3]
local given_us, witness_ms, id = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local packed = redis.call('HGET', state, 'line')
-- splice: unpack_line
if not v then
  return { 'no-queue' }
end
-- While no entry waits but absent ones, the fast track may be open. A visitor who is called by entering is noted.
local in_line = redis.call('ZCARD', waiting)
if in_line <= absent or newcomers_called > 0 or entrance ~= 'open' or flags % 2 == 1 or redis.call('HGET', visits, id) then
  return { 'other' }
end
-- splice: line_time
if clocks_apart then
  return { 'other' }
end
local now_ms = (us - us % 1000) / 1000
if entrance_changes_at_ms and now_ms >= entrance_changes_at_ms then
  return { 'other' }
end
-- Absent entries do not count. A flood of refused visitors writes nothing.
if queue_limit and in_line - absent >= queue_limit and not redis.call('ZSCORE', waiting, id) then
  return { 'full' }
end
v = next_version(us, v)
local order = next_order(now_ms, last_order)
local place = LANE_DEFAULT * LANE_PLACES + PHASE_OPEN + order
local has_lanes = flags >= 2
-- `%d` formats a 64-bit integer, and faster than Redis formats a number.
local is_new = redis.call('ZADD', waiting, 'NX', string.format('%d', place), id) == 1
local position
if is_new then
  last_order, entered, position = order, entered + 1, in_line + 1 - absent
  if has_lanes then
    -- The entries of the own lane, less the absent ones, which are the last number that lanes.lua stores of it.
    local progress = redis.call('HGET', state, 'lane_' .. LANE_DEFAULT)
    local absent_in_lane = progress and tonumber(string.match(progress, '%d+$')) or 0
    position = redis.call('ZCOUNT', waiting, string.format('%d', LANE_DEFAULT * LANE_PLACES),
      string.format('%d', place)) - absent_in_lane
  end
elseif newcomers_called >= 0 or has_lanes or redis.call('HGET', state, 're_entry') == 'requeue' then
  return { 'other' }
else
  place = tonumber(redis.call('ZSCORE', waiting, id))
  position = redis.call('ZRANK', waiting, id) + 1
end
-- splice: pack_line
redis.call('HSET', state, 'line', packed)
-- Redis sends one text faster than a list.
return struct.pack('<sI8I8I8I8I8', is_new and 'new' or 'kept', epoch, v, place, position, now_ms)
