#!lua flags=no-writes
-- Says where an entry stands.
-- include: clock scores claim_clock queue
-- KEYS: waiting ready active ended config state
-- ARGV: given_us witness_ms id
-- Output: {'no-queue'}
--         {'here', state, score or visit, position or deadline_ms, now_ms}
--         {'gone', 'ended' | 'unknown'}
local waiting, ready, active, ended, config, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, witness_ms, id = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local at = standing(queue, waiting, ready, active, ended, id)
if not at.visit then
  return { 'gone', at.state }
end
return { 'here', unpack(reply_standing(queue, waiting, id, at)) }
