-- Counts for the tally of a queue in the hash `tally`, whose fields are:
--   before_<total>: the totals of the generation before Redis restored the queue; missing if it did not
--   wait_<number>, stay_<number>: how many promoted entries had a wait of that bucket, and how many sessions that ended
--     lasted so long: see domain/tally/histogram.rs
--   waits_sum_ms, waits_max_ms, stays_sum_ms, stays_max_ms: sum and maximum of these waits and stays
--   peak_waiting, peak_at_ms: the most entries in line at a tick, and when
--   taken_at_ms: when the tally was last taken for storing it, in Unix milliseconds
--   stored_v: the version of the tally that the backup has

-- Durations: their number, their sum and the longest one in milliseconds, and how many are in each bucket.
local durations = {}

function durations.new()
  return { count = 0, sum_ms = 0, longest_ms = 0, buckets = {} }
end

-- Adds a duration, which counts as 0 if it is negative.
function durations.add(measured, ms)
  measured.count = measured.count + 1
  local bucket = 0
  if ms > 0 then
    measured.sum_ms = measured.sum_ms + ms
    if ms > measured.longest_ms then
      measured.longest_ms = ms
    end
    -- The number of bits, and the four bits behind the first one.
    local fraction, bits = math.frexp(ms)
    bucket = bits * 16 + math.floor(fraction * 32) - 16
  end
  measured.buckets[bucket] = (measured.buckets[bucket] or 0) + 1
end

-- The fields of the tally that `durations.count` needs: `kind` is 'wait' or 'stay'. Adds them to `names`.
function durations.name_fields(names, kind, measured)
  names[#names + 1], names[#names + 2] = kind .. 's_sum_ms', kind .. 's_max_ms'
  for number in pairs(measured.buckets) do
    names[#names + 1] = kind .. '_' .. number
  end
end

-- Counts durations. `tally` is the key, or what `hashes.open` has read of it.
function durations.count(tally, kind, measured)
  hashes.add(tally, kind .. 's_sum_ms', measured.sum_ms)
  if measured.longest_ms > tonumber(hashes.get(tally, kind .. 's_max_ms') or 0) then
    hashes.set(tally, kind .. 's_max_ms', measured.longest_ms)
  end
  for number, count in pairs(measured.buckets) do
    hashes.add(tally, kind .. '_' .. number, count)
  end
end

-- Counts how long a session lasted that ends at `at_ms`, if it is known when it began. `state` sums up for the next report.
function durations.count_stay(tally, state, began_at_ms, at_ms)
  if began_at_ms then
    local stay = durations.new()
    durations.add(stay, at_ms - began_at_ms)
    durations.count(tally, 'stay', stay)
    hashes.add(state, 'stayed_ms', stay.sum_ms)
    hashes.add(state, 'stays', stay.count)
  end
end

-- Counts `in_line` entries for the peak, the waits that durations.measure_waits returned, and the stays of sessions that ran
-- out; nil if there are none. The entries of one tick have waited for about as long as each other, so there are few buckets.
function durations.count_tick(tally, now_ms, in_line, waits, stays)
  local names = { 'peak_waiting' }
  if waits then
    durations.name_fields(names, 'wait', waits)
  end
  if stays then
    durations.name_fields(names, 'stay', stays)
  end
  if #names == 1 and in_line == 0 then
    return
  end
  local counted = hashes.open(tally, names)
  if in_line > tonumber(hashes.get(counted, 'peak_waiting') or 0) then
    hashes.set(counted, 'peak_waiting', in_line, 'peak_at_ms', now_ms)
  end
  if waits then
    durations.count(counted, 'wait', waits)
  end
  if stays then
    durations.count(counted, 'stay', stays)
  end
  hashes.save(counted)
end
