-- Counts for the tally of a queue in the hash `tally`, whose fields are:
--   before_<total>: the totals of the generation before Redis restored the queue; missing if it did not
--   wait_<number>: how many promoted entries had a wait of that bucket: see domain/tally/waits.rs
--   waits_sum_ms, waits_max_ms: sum and maximum of these waits
--   peak_waiting, peak_at_ms: the most entries in line at a tick, and when
--   taken_at_ms: when the tally was last taken for storing it, in Unix milliseconds
--   stored_v: the version of the tally that the backup has

-- Counts the waits that measure_waits returned. Each bucket takes one command, and the entries of one tick have waited
-- for about as long as each other, so there are few.
local function count_waits(tally, waits)
  for number, count in pairs(waits.buckets) do
    redis.call('HINCRBY', tally, 'wait_' .. number, count)
  end
  redis.call('HINCRBY', tally, 'waits_sum_ms', string.format('%.0f', waits.sum_ms))
  if waits.longest_ms > tonumber(redis.call('HGET', tally, 'waits_max_ms') or 0) then
    redis.call('HSET', tally, 'waits_max_ms', waits.longest_ms)
  end
end

local function count_peak(tally, in_line, now_ms)
  if in_line > 0 and in_line > tonumber(redis.call('HGET', tally, 'peak_waiting') or 0) then
    redis.call('HSET', tally, 'peak_waiting', in_line, 'peak_at_ms', now_ms)
  end
end
