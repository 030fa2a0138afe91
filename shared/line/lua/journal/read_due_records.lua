#!lua flags=allow-oom
-- Reads the oldest records of the journal. Before that, it moves deferred records that are due again to the end of the
-- journal. So a record that is not due yet never stands before one that is.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: hashes line line_table clock words
-- KEYS: journal journaled deferred config
--   journal: stream, changes that the backup does not have yet
--   journaled: hash, `entry kind` -> the stream id of a change in the journal, or the change itself if it is deferred
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
--   config: hash, the queue's configuration; without it Redis does not have the queue
-- ARGV: given_us witness_ms records_max bytes_max
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds; not used
--   records_max: the script returns this many records at most
--   bytes_max: the script returns no further record after this many bytes of fields and values
-- Output: {'no-queue'}: Redis does not have the queue
--         {'records', records}: a list of {stream id, {field, value, field, value, …}}, the oldest first
local journal, journaled, deferred, config = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local given_us, witness_ms, records_max, bytes_max = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local MOVED_MAX = 1000 -- one call moves at most this many records, so that it does not block Redis for long
local PAGE_RECORDS = 10 -- a record of a tick may have 50 kB

if redis.call('EXISTS', config) == 0 then
  return { 'no-queue' }
end
-- The server's clock alone counts, since line time may be far ahead of it for a while.
local now_ms = string.format('%.0f', math.floor(read_server_time_us(given_us) / 1000))
for _, field in ipairs(redis.call('ZRANGEBYSCORE', deferred, '-inf', now_ms, 'LIMIT', 0, MOVED_MAX)) do
  local values = split_words(redis.call('HGET', journaled, field) or '')
  if #values > 1 then
    redis.call('HSET', journaled, field, redis.call('XADD', journal, '*', unpack(values)))
  end
  redis.call('ZREM', deferred, field)
end

local records, bytes, from = {}, 0, '-'
while #records < records_max and bytes < bytes_max do
  local page = redis.call('XRANGE', journal, from, '+', 'COUNT', math.min(PAGE_RECORDS, records_max - #records))
  for _, record in ipairs(page) do
    if bytes < bytes_max then
      records[#records + 1] = record
      from = '(' .. record[1]
      for _, text in ipairs(record[2]) do
        bytes = bytes + #text
      end
    end
  end
  if #page < PAGE_RECORDS then
    break
  end
end
return { 'records', records }
