#!lua flags=allow-oom
-- Says where an entry is, as `status` does, for the visitor who asks. A called visitor checks in by it. For a caller who is
-- not known to be the visitor it says the same, and changes nothing.
-- allow-oom: the called entries are few, and a visitor who checks in must not be passed over at maxmemory.
-- include: hashes line line_table clock versions places scores claim_clock visits end queue lanes presence
-- KEYS: waiting ready active visits ended present seen config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   present: sorted set, called entry that checked in lately -> place
--   seen: sorted set, called entry -> last check-in by the presence clock, negative if it is not present
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms id asks
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   id: the entry
--   asks: 'visitor' if it is the visitor who asks, 'stranger' if that is not known
-- Output: {'no-queue'}: Redis does not have the queue
--         {'waiting', place, position, lane}: the entry waits. The position counts no absent entry; `lane` is what
--           lanes.lua stores of its lane, empty if there is nothing
--         {'here', 'ready' | 'active', visit, deadline_ms, now_ms}: the entry was promoted
--         {'gone', 'ended', epoch, v, visit, step, step_ms, how, at_ms}: the entry ended in this way
--         {'gone', 'unknown', now_ms}: Redis knows nothing of the entry
local waiting, ready, active, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local present, seen, config, state = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local given_us, witness_ms, id, asks = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local keys = { waiting = waiting, ready = ready, active = active, visits = visits, ended = ended, present = present,
  seen = seen, state = state }
local place = tonumber(redis.call('ZSCORE', waiting, id))
-- Nearly all who ask are waiting. Then nothing else of the queue is needed but that it is whole.
if place then
  local lane = find_lane(place)
  local line, lane_text, clock = unpack(redis.call('HMGET', state, 'line', 'lane_' .. lane, 'presence'))
  if line then
    local progress, clock_ms = parse_lane(lane, lane_text), parse_presence_ms(clock)
    if clock_ms and asks == 'visitor' then
      -- Any visitor who asks shows that the front door is up: see domain/presence.rs.
      redis.call('HINCRBY', state, 'check_ins', 1)
      lane_text = mark_present(keys, id, place, progress, clock_ms) or lane_text
    end
    local visit = is_drawn(place) and parse_visit(redis.call('HGET', visits, id)) or nil
    return { 'waiting', describe_place(place, visit or 0), find_position(keys, id, place, progress), lane_text or '' }
  end
end
local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local entry = find_entry(queue, keys, id)
if not entry.is_live then
  return build_gone(queue, entry)
end
return { 'here', unpack(build_status(queue, keys, id, entry)) }
