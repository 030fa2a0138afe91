-- Counts for the tally of a queue in the hash `tally`, whose fields are:
--   before_<total>: the totals of the generation before Redis restored the queue; missing if it did not
--   wait_<number>: how many promoted entries had a wait of that bucket: see domain/tally/waits.rs
--   waits_sum_ms, waits_max_ms: sum and maximum of these waits
--   peak_waiting, peak_at_ms: the most entries in line at a tick, and when
--   taken_at_ms: when the tally was last taken for storing it, in Unix milliseconds
--   stored_v: the version of the tally that the backup has

-- Counts `in_line` entries for the peak, and the waits that measure_waits returned, nil if there are none. The entries of
-- one tick have waited for about as long as each other, so there are few buckets.
local function count_for_tally(tally, now_ms, in_line, waits)
  local names = { 'peak_waiting' }
  if waits then
    names = { 'peak_waiting', 'waits_sum_ms', 'waits_max_ms' }
    for number in pairs(waits.buckets) do
      names[#names + 1] = 'wait_' .. number
    end
  elseif in_line == 0 then
    return
  end
  local counted = hashes.open(tally, names)
  if in_line > tonumber(hashes.get(counted, 'peak_waiting') or 0) then
    hashes.set(counted, 'peak_waiting', in_line, 'peak_at_ms', now_ms)
  end
  if waits then
    hashes.add(counted, 'waits_sum_ms', waits.sum_ms)
    if waits.longest_ms > tonumber(hashes.get(counted, 'waits_max_ms') or 0) then
      hashes.set(counted, 'waits_max_ms', waits.longest_ms)
    end
    for number, count in pairs(waits.buckets) do
      hashes.add(counted, 'wait_' .. number, count)
    end
  end
  hashes.save(counted)
end
