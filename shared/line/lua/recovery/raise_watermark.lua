#!lua flags=allow-oom
-- Raises the queue's watermark, which serves as a fencing token. The backup stores the watermark as its fence, so a
-- watermark below the fence shows that Redis restarted with stale data. The watermark stays if nothing changed since it
-- was raised.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: hashes line line_table
-- KEYS: config state
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: epoch fence
--   epoch: the epoch of the queue in the backup
--   fence: the fence in the backup
-- Output: {'no-queue'}: Redis does not have the queue
--         {'other'}: the queue is of another epoch, so nothing changed
--         {'old'}: the watermark is below the fence: the data is stale
--         {'same'}: nothing changed since the watermark was raised last
--         {'raised', watermark}: the new watermark
local config, state = KEYS[1], KEYS[2]
local epoch, fence = ARGV[1], tonumber(ARGV[2])

local queue_epoch, line = redis.call('HGET', config, 'epoch'), read_line_fields(state)
if not queue_epoch or not line then
  return { 'no-queue' }
end
if queue_epoch ~= epoch then
  return { 'other' }
end
local watermark, watermark_v = unpack(redis.call('HMGET', state, 'fence', 'fence_v'))
watermark = tonumber(watermark or 0)
if watermark < fence then
  return { 'old' }
end
if line.v == tonumber(watermark_v) then
  return { 'same' }
end
redis.call('HSET', state, 'fence', watermark + 1, 'fence_v', line.v)
return { 'raised', watermark + 1 }
