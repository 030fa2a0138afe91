#!lua flags=no-writes
-- Says whether the visitors of many waiting entries are present. It needs three commands for all entries.
-- include: hashes places scores lanes presence
-- KEYS: waiting present seen state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   present: sorted set, called entry that checked in lately -> place
--   seen: sorted set, called entry -> last check-in by the presence clock, negative if it is not present
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: ...
--   ...: the entries; the caller sends at most 1,000, because `unpack` is bounded
-- Output: {'no-queue'}: Redis does not have the queue
--         {'presence', …}: and for each entry, in the order of the arguments, 'none' if it does not wait, else 'present',
--           'absent', 'called' or 'not-called'; and then 1 if the visitor has ever checked in, else 0
local waiting, present, seen, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

if redis.call('HEXISTS', state, 'line') == 0 then
  return { 'no-queue' }
end
local places = redis.call('ZMSCORE', waiting, unpack(ARGV))
local present_places = redis.call('ZMSCORE', present, unpack(ARGV))
local last_seen = redis.call('ZMSCORE', seen, unpack(ARGV))
local has_presence, lanes = read_presence_ms(state) and true or false, read_lanes(state)

local reply = { 'presence' }
for i = 1, #ARGV do
  local place = tonumber(places[i])
  local progress = place and (lanes[find_lane(place)] or parse_lane(find_lane(place), nil))
  if not place then
    reply[#reply + 1] = 'none'
  elseif not has_presence or present_places[i] then
    reply[#reply + 1] = 'present'
  elseif place <= progress.passed_through then
    reply[#reply + 1] = 'absent'
  else
    reply[#reply + 1] = place <= progress.check_in_through and 'called' or 'not-called'
  end
  reply[#reply + 1] = (not has_presence or has_checked_in(last_seen[i])) and 1 or 0
end
return reply
