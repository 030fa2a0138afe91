#!lua flags=allow-oom
-- Removes the entries that timed out, and promotes as many present entries as min(waiting, capacity - ready - active -
-- held, tokens). One call removes and promotes `chunk` entries at most, so that it does not block Redis for long. One
-- journal record holds all of it. It removes and promotes nothing if the journal is full or the server's clock is not
-- trusted. Goes past the absent ones at the cost of one: see domain/presence.rs. While presence is off, all who wait
-- are promoted in turn. While the front door is down, it promotes none as long as an entry is ready.
-- Ends waits that have lasted too long, and those of visitors who have closed the page. In the mode `passthrough`, neither
-- capacity nor tokens count. Once the queue is finished, it promotes none and ends the waiting entries. Before it opens, it
-- promotes and calls none.
-- Sets a consistency check due if Redis has lost changes: it lacks a tick that the caller has seen, the caller has left
-- another server, or the totals do not fit the sets any more.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: hashes line line_table clock versions places scores claim_clock visits pace adaptive_pace settled imbalance loss averages tally timeouts lanes marks presence_tick chosen_entries dismissals absences call_visitors promoted_entries entrance opening scheduled_calls overlong_waits closed_pages
-- KEYS: waiting ready active held visits ended settled present seen config state journal deferred changes tally closing
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   held: sorted set, entry whose slot is held -> when the slot becomes free, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   settled: sorted set, entry -> line time since which the backup has the end in `ended`, in Unix milliseconds
--   present: sorted set, called entry that checked in lately -> place
--   seen: sorted set, called entry -> last check-in by the presence clock, negative if it is not present
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   journal: stream, changes that the backup does not have yet
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
--   changes: channel, one message for each tick that promotes entries
--   tally: hash, the waits, the stays and the peak since the generation began, and the totals before the queue was restored
--   closing: sorted set, entry -> line time at which its visitor closed the page, in Unix milliseconds
-- ARGV: given_us witness_ms requested chunk heartbeat newcomers_max journal_max fence_epoch fence short_ms long_ms silent_ms settled_kept_ms seen_epoch seen_ticks seen_at_ms has_changed_server
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   requested: promote this many entries at most
--   chunk: promote and remove this many entries at most, in all
--   heartbeat: 1 if the promoter calls, which stores the time as its heartbeat; 0 for any other caller
--   newcomers_max: the journal has no room for newcomers when it has this many due records
--   journal_max: the script removes and promotes nothing when the journal has this many records
--   fence_epoch: the epoch that the queue must have; empty if the caller knows no fence
--   fence: the watermark that the queue must have reached; 0 if the caller knows no fence
--   short_ms, long_ms: the lengths of the two windows for moving averages, in milliseconds
--   silent_ms: after a longer time without a tick, that tick is not counted for the rate, in milliseconds
--   settled_kept_ms: how long an end stays after the backup has it, in milliseconds
--   seen_epoch, seen_ticks, seen_at_ms: the mark of the latest tick that the caller has seen: the epoch, the number of
--     ticks, and the time of the last one in Unix milliseconds; seen_epoch is empty if the caller has seen none
--   has_changed_server: 1 if the caller has left a server that no longer accepted writes, since its last call; else 0
-- Output: {'no-queue'}: Redis does not have the queue, or has it with another epoch or a watermark below the fence
--         {'promoted', promoted, no_shows, expired, silent, absences, overlong_waits, dismissed, left, limited_by, waiting,
--          ready, active, promoted_through, now_ms, clocks_apart, ahead_ms, offset_ms, epoch, ticks, loss_sign, is_check_due}:
--           promoted, no_shows, expired: how many entries this call promoted and removed
--           silent, absences: how many visitors are not present any more, and how many absences this call ended
--           overlong_waits: how many waits this call ended because they had lasted too long
--           dismissed: how many waiting entries this call ended because the queue is finished
--           left: how many visitors this call let leave because they had closed the page
--           limited_by: why it promoted no more: 'line' (no entry waits), 'presence' (the next ones were called lately
--             and have not checked in), 'capacity', 'pace', 'requested' (`requested` or
--             `chunk`), 'service' (it is down), 'switch' (paused, closed, finished or not open yet), 'journal' (full) or
--             'clock' (not trusted)
--           waiting, ready, active: how many entries are in each state afterwards
--           promoted_through: the highest place that was ever promoted
--           clocks_apart, ahead_ms: 1 if the server's clock and the caller's are too far apart, else 0; and how far the
--             server's is ahead, in milliseconds
--           offset_ms: what is added to the server's clock, in milliseconds
--           epoch, ticks: the mark of this call, whose time is now_ms
--           loss_sign: what shows that Redis has lost changes: 'lost-tick', 'changed-server' or 'imbalance'; else ''
--           is_check_due: 1 if a consistency check is due because this call or an earlier one noticed a loss; else 0
local waiting, ready, active, held, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local settled, present, seen, config, state = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local journal, deferred, changes, tally, closing = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16]
local given_us, witness_ms, requested, chunk = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local heartbeat, newcomers_max, journal_max = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local fence_epoch, fence, short_ms, long_ms = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local silent_ms, settled_kept_ms, seen_epoch = tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[14]
local seen_ticks, seen_at_ms, has_changed_server = tonumber(ARGV[15]), ARGV[16], ARGV[17]

config, state = hashes.open(config), hashes.open(state)

local epoch, paused, capacity, claim_ms, check_in_ms, polls_per_second_max, presence_ms,
  call_ms, absent_ms, queue_limit, absent_limit = hashes.get_many(config, 'epoch', 'paused',
  'capacity', 'claim_ms', 'check_in_ms', 'polls_per_second_max', 'presence_ms', 'call_ms',
  'absent_ms', 'queue_limit', 'absent_limit')
if not epoch then
  return { 'no-queue' }
end
local paused_at_ms, paused_ms, claim_floor_ms, claim_floor_until_ms, taken_seconds,
  waiting_seconds, paced, promoted_through, tick_gap_ms, waited_ms, waited_max_ms, testified_ms,
  watermark, paced_seconds, counted_at_ms, ticks, ticked_at_ms, check_due_ms, checked_imbalance =
  hashes.get_many(state, 'paused_at_ms', 'paused_ms', 'claim_floor_ms', 'claim_floor_until_ms', 'taken_seconds',
  'waiting_seconds', 'paced', 'promoted_through', 'tick_gap_ms', 'waited_ms', 'waited_max_ms',
  'testified_ms', 'fence', 'paced_seconds', 'counted_at_ms', 'ticks',
  'ticked_at_ms', 'check_due_ms', 'checked_imbalance')
local line = read_line_fields(state)
if not line or (fence_epoch ~= '' and (epoch ~= fence_epoch or tonumber(watermark) < fence)) then
  return { 'no-queue' }
end
promoted_through = tonumber(promoted_through)
local us, clocks_apart, ahead_ms = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)
-- One version for everything that this call does: no other change can come in between.
local change_v = next_version(us, line.v)
local claim_clock_ms = compute_claim_clock_ms(now_ms, paused, tonumber(paused_at_ms), tonumber(paused_ms))

-- Looks for a loss of changes.
ticks = tonumber(ticks)
local loss_sign = ''
if seen_epoch == epoch and (ticks < seen_ticks or (ticks == seen_ticks and ticked_at_ms ~= seen_at_ms)) then
  loss_sign = 'lost-tick'
elseif has_changed_server == '1' then
  loss_sign = 'changed-server'
end
ticks = ticks + 1
hashes.set(state, 'ticks', ticks, 'ticked_at_ms', now_ms)
-- How many entries are in each set. They are counted once, and what this call moves is added and subtracted.
local counts = { waiting = redis.call('ZCARD', waiting), ready = redis.call('ZCARD', ready),
  active = redis.call('ZCARD', active) }
loss_sign, check_due_ms = compare_imbalance(
  compute_imbalance(counts.waiting + counts.ready + counts.active, state, line), checked_imbalance, loss_sign,
  tonumber(check_due_ms), state, now_ms)

line.queue_limit = parse_limit(queue_limit)
local due_count = redis.call('XLEN', journal)
line.journal_full = due_count >= newcomers_max and 1 or 0
local is_journal_full = due_count + redis.call('ZCARD', deferred) >= journal_max
local remove_limit = (is_journal_full or clocks_apart) and 0 or chunk
local keys = { waiting = waiting, held = held, visits = visits, ended = ended, settled = settled, present = present,
  seen = seen, closing = closing, state = state }
-- All ends of this call have the same version and time.
local tick = { epoch = epoch, v = change_v, now_ms = now_ms, dismissed = 0, dismissed_list = '' }
tick.entrance, line.entrance_changes_at_ms = read_entrance(config, now_ms)
tick.is_scheduled = open_if_due(config, now_ms, clocks_apart, line.last_order > 0)
local is_switched_off = paused == '1' or tick.entrance == 'closed' or tick.entrance == 'finished'
  or tick.is_scheduled

-- Presence.
presence_ms, call_ms, absent_ms = tonumber(presence_ms), tonumber(call_ms), tonumber(absent_ms)
local lanes = read_lanes(state)
add_new_lanes(waiting, lanes, line.has_lanes, counts.waiting)
local clock = switch_presence(keys, lanes, now_ms, presence_ms)
local silent, is_clock_running, calls = 0, false, {}
local is_door_down, door_down_ms = false, 0
if clock then
  is_clock_running, is_door_down, door_down_ms =
    advance_presence_clock(keys, clock, now_ms, presence_ms, not clocks_apart and not is_switched_off)
end
if door_down_ms > 0 then
  -- No visitor can claim, so the claim clock stands still.
  hashes.add(state, 'paused_ms', door_down_ms)
  claim_clock_ms = claim_clock_ms - door_down_ms
end
local no_shows, no_show_list = remove_timed_out(keys, tick, ready, claim_clock_ms,
  math.min(remove_limit, counts.ready), 'no-show', 'no_shows')
local expired, expired_list = remove_timed_out(keys, tick, active, now_ms,
  math.min(remove_limit - no_shows, counts.active), 'expired', 'expired')
counts.ready, counts.active, counts.held = counts.ready - no_shows, counts.active - expired,
  free_held_slots(keys, now_ms, remove_limit)
if clock then
  silent = drop_silent(keys, lanes, clock, presence_ms, remove_limit - no_shows - expired)
  calls = read_calls(keys, lanes, clock, call_ms)
end

if tick.entrance == 'finished' then
  tick.dismissed, tick.dismissed_list =
    dismiss_waiting(keys, tick, lanes, remove_limit - no_shows - expired - silent)
end

local bucket = read_bucket(config, state, now_ms)
tick.overlong_waits, tick.overlong_list = end_overlong_waits(keys, tick, lanes, config, not clocks_apart
  and (is_switched_off or bucket.is_service_down or is_door_down or is_journal_full),
  remove_limit - no_shows - expired - silent - tick.dismissed)
tick.left, tick.left_list = end_closed_pages(keys, tick, lanes, config,
  clocks_apart or is_door_down or now_ms - tonumber(ticked_at_ms) > silent_ms,
  clock and clock.may_be_down and 0 or remove_limit - no_shows - expired - silent - tick.dismissed - tick.overlong_waits)

-- How many entries to promote, and which limit keeps it from being more.
counts.waiting = counts.waiting - tick.dismissed - tick.overlong_waits - tick.left
local in_line, taken = counts.waiting - count_absent(lanes), counts.ready + counts.active + counts.held
local promoted, limited_by = in_line, 'line'
local function apply_limit(name, maximum)
  if maximum < promoted then
    promoted, limited_by = maximum, name
  end
end
if not bucket.is_passthrough then
  apply_limit('capacity', math.max(tonumber(capacity) - taken, 0))
  apply_limit('pace', math.floor(bucket.credit / bucket.interval_ms))
end
apply_limit('requested', math.min(requested, chunk - no_shows - expired - silent - tick.overlong_waits - tick.left))
if is_door_down and counts.ready > 0 then
  promoted, limited_by = 0, 'presence'
end
if bucket.is_service_down then
  promoted, limited_by = 0, 'service'
end
if is_switched_off then
  promoted, limited_by = 0, 'switch'
end
if is_journal_full then
  promoted, limited_by = 0, 'journal'
end
if clocks_apart then
  promoted, limited_by = 0, 'clock'
elseif testified_ms then
  hashes.remove(state, 'testified_ms')
end

-- Takes the entries to promote out of `waiting`.
local head = promoted > 0 and choose_entries(keys, config, lanes, line.has_lanes, clock, calls, promoted) or {}
if #head / 2 < promoted then
  promoted = #head / 2
  limited_by = counts.waiting - promoted > count_absent(lanes) and 'presence' or 'line'
end

-- Makes them ready.
local promoted_list, promoted_again_list, claim_by_ms, waits = '', '', 0, nil
if promoted > 0 then
  claim_ms = tonumber(claim_ms)
  if now_ms < tonumber(claim_floor_until_ms) then
    claim_ms = math.max(claim_ms, tonumber(claim_floor_ms))
  end
  claim_by_ms = now_ms + claim_ms
  local highest_place = tonumber(head[#head])
  promoted_list = table.concat(head, ' ')
  waits = durations.measure_waits(head, now_ms, (read_opening(config)))
  -- An entry that waits again gets its second turn, and a drawn place does not tell the visit. Nearly always the counts
  -- show that there is no such entry.
  if redis.call('HLEN', visits) > taken then
    promoted_list, promoted_again_list = separate_second_turns(visits, head)
  end
  redis.call('HSET', visits, unpack(head))
  -- All have the same deadline. So the list of entries and places becomes the one of scores and entries, less its first
  -- score and its last element: building a second list would take longer than this.
  local deadline_ms = string.format('%.0f', claim_clock_ms + claim_ms)
  for i = 2, #head, 2 do
    head[i] = deadline_ms
  end
  redis.call('ZADD', ready, deadline_ms, unpack(head, 1, #head - 1))
  counts.waiting, counts.ready = counts.waiting - promoted, counts.ready + promoted

  promoted_through = math.max(promoted_through, highest_place)
  hashes.set(state, 'promoted_through', promoted_through, 'waited_ms', waited_ms + waits.sum_ms,
    'waited_max_ms', math.max(tonumber(waited_max_ms), waits.longest_ms))
  hashes.add(state, 'promoted', promoted)
  -- Tells held polls up to which place the line was promoted: see tick_message.rs.
  redis.call('SPUBLISH', changes,
    string.format('%.0f %.0f %.0f %.0f %.0f', highest_place, epoch, change_v, now_ms, claim_by_ms))
end

durations.count_tick(tally, now_ms, in_line, waits, tick.stays)
if not clocks_apart then
  spend_tokens(state, bucket, bucket.is_passthrough and 0 or promoted)
end

-- Calls visitors, and ends absences that have lasted too long.
local pace, room = compute_call_bounds(limited_by, bucket, presence_ms, polls_per_second_max)
local absences, absence_list = 0, ''
if clock then
  decide_growths(keys, lanes, calls, clock, call_ms)
  if is_clock_running and remove_limit > 0 then
    absences, absence_list = end_absences(keys, tick, lanes, calls, clock, absent_ms,
      parse_limit(absent_limit) or line.queue_limit,
      remove_limit - no_shows - expired - silent - tick.overlong_waits - tick.left - promoted)
    counts.waiting = counts.waiting - absences
  end
end
local newcomers_called = tick.is_scheduled and call_none(keys, lanes)
  or call_visitors(waiting, lanes, calls, line.has_lanes, counts.waiting, now_ms, pace,
    tonumber(check_in_ms), room)
if clock then
  write_calls(keys, lanes, calls, clock, call_ms, absent_ms)
end
write_lanes(state, lanes)
local left_in_line = counts.waiting - count_absent(lanes)
line.absent, line.newcomers_called = count_absent(lanes), clock and newcomers_called or -1
if promoted + no_shows + expired + absences + tick.overlong_waits + tick.dismissed + tick.left > 0 then
  line.v = change_v
  redis.call('XADD', journal, '*', 'event', 'tick', 'epoch', epoch, 'v', change_v, 'at_ms', now_ms,
    'claim_by_ms', claim_by_ms, 'no_shows', no_show_list, 'expired', expired_list, 'absences', absence_list,
    'overlong_waits', tick.overlong_list, 'dismissed', tick.dismissed_list, 'left', tick.left_list,
    'promoted', promoted_list, 'promoted_again', promoted_again_list)
end
if not clocks_apart then
  delete_settled_ends(ended, settled, now_ms, settled_kept_ms)
end
if heartbeat == '1' then
  local gap_ms = line.heartbeat_ms > 0 and now_ms - line.heartbeat_ms or 0
  hashes.set(state, 'tick_gap_ms', math.max(gap_ms, tonumber(tick_gap_ms)))
  line.heartbeat_ms = now_ms
end
write_line_fields(state, line)

-- Adds the time since the last tick to the sums for the moving averages. Counts the seconds at which the clock turned,
-- so that many ticks within a second add up to the same as one.
counted_at_ms = tonumber(counted_at_ms)
local passed_ms = counted_at_ms > 0 and math.max(now_ms - counted_at_ms, 0) or 0
local passed_seconds = math.floor(now_ms / 1000) - math.floor((now_ms - passed_ms) / 1000)
local sums = { taken_seconds = taken_seconds + taken * passed_seconds,
  waiting_seconds = waiting_seconds + in_line * passed_seconds, paced = tonumber(paced),
  paced_seconds = tonumber(paced_seconds) }
-- The first tick after a silence spends what the pace allowed before.
if (limited_by == 'pace' or limited_by == 'requested') and counted_at_ms > 0 and passed_ms <= silent_ms then
  sums.paced, sums.paced_seconds = sums.paced + promoted, sums.paced_seconds + passed_seconds
end
local is_due = limited_by ~= 'line' and limited_by ~= 'pace' and limited_by ~= 'requested'
local standstill = promoted == 0 and in_line > 0 and is_due and limited_by or ''
hashes.set(state, 'standstill', standstill, 'counted_at_ms', now_ms, 'taken_seconds', sums.taken_seconds,
  'waiting_seconds', sums.waiting_seconds, 'paced', sums.paced, 'paced_seconds', sums.paced_seconds)
rotate_windows(state, line, now_ms, short_ms, long_ms, left_in_line, taken + promoted, sum_lanes(lanes, 'gone_ahead'),
  sums)
hashes.save(config)
hashes.save(state)
return { 'promoted', promoted, no_shows, expired, silent, absences, tick.overlong_waits, tick.dismissed, tick.left,
  limited_by, counts.waiting, counts.ready, counts.active, promoted_through, now_ms, clocks_apart and 1 or 0, ahead_ms,
  line.offset_ms, line.epoch, ticks, loss_sign, check_due_ms > 0 and 1 or 0 }
