#!lua flags=no-writes
-- Says where each of many entries stands, as `status` does of one: with four commands for all that are not in line any
-- more, and one for each that is.
-- include: clock scores claim_clock queue
-- KEYS: waiting ready active ended config state
-- ARGV: given_us witness_ms ...
-- Output: {'no-queue'}
--         {'looks', and for each id that was given one of:
--          'here', state, score or visit, position or deadline_ms, now_ms
--          'gone', 'ended' | 'unknown'}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
-- The caller sends some hundred at most: as many as may be unpacked.
local ids = { unpack(ARGV, 3) }
local waiting_scores = redis.call('ZMSCORE', waiting, unpack(ids))
local ready_scores = redis.call('ZMSCORE', ready, unpack(ids))
local active_scores = redis.call('ZMSCORE', active, unpack(ids))
local ends = redis.call('HMGET', ended, unpack(ids))

local reply = { 'looks' }
for i, id in ipairs(ids) do
  local at = in_line(waiting_scores[i]) or called(queue, ready_scores[i]) or inside(queue, active_scores[i])
    or nowhere(ends[i])
  if at.visit then
    reply[#reply + 1] = 'here'
    for _, value in ipairs(reply_standing(queue, waiting, id, at)) do
      reply[#reply + 1] = value
    end
  else
    reply[#reply + 1] = 'gone'
    reply[#reply + 1] = at.state
  end
end
return reply
