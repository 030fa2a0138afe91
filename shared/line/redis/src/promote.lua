#!lua flags=allow-oom
-- Removes the entries that timed out, and promotes as many waiting entries as min(waiting, capacity - ready - active,
-- tokens). One call removes and promotes `chunk` entries at most, so that it does not block Redis for long. One journal
-- record holds all of it. It removes and promotes nothing if the journal is full or the server's clock is not trusted.
-- Sets a consistency check due if Redis has lost changes: it lacks a tick that the caller has seen, the caller has left
-- another server, or the totals do not fit the sets any more.
-- allow-oom: this script frees memory or preserves acknowledged changes, so it must run at maxmemory.
-- include: line line_table clock scores claim_clock visits pace settled imbalance averages lanes call_visitors
-- KEYS: waiting ready active visits ended settled config state journal deferred changes
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   settled: sorted set, entry -> line time since which the backup has the end in `ended`, in Unix milliseconds
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   journal: stream, changes that the backup does not have yet
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
--   changes: channel, one message for each tick that promotes entries
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
--   silent_ms: after a longer time without a tick, the speed of the line is measured anew, in milliseconds
--   settled_kept_ms: how long an end stays after the backup has it, in milliseconds
--   seen_epoch, seen_ticks, seen_at_ms: the mark of the latest tick that the caller has seen: the epoch, the number of
--     ticks, and the time of the last one in Unix milliseconds; seen_epoch is empty if the caller has seen none
--   has_changed_server: 1 if the caller has left a server that no longer accepted writes, since its last call; else 0
-- Output: {'no-queue'}: Redis does not have the queue, or has it with another epoch or a watermark below the fence
--         {'promoted', promoted, no_shows, expired, limited_by, waiting, ready, active, promoted_through, now_ms,
--          clocks_apart, ahead_ms, offset_ms, epoch, ticks, loss_sign, is_check_due}:
--           promoted, no_shows, expired: how many entries this call promoted and removed
--           limited_by: why it promoted no more: 'line' (no entry waits), 'capacity', 'pace', 'requested' (`requested` or
--             `chunk`), 'switch' (paused or closed), 'journal' (full) or 'clock' (not trusted)
--           waiting, ready, active: how many entries are in each state afterwards
--           promoted_through: the highest place that was ever promoted
--           clocks_apart, ahead_ms: 1 if the server's clock and the caller's are too far apart, else 0; and how far the
--             server's is ahead, in milliseconds
--           offset_ms: what is added to the server's clock, in milliseconds
--           epoch, ticks: the mark of this call, whose time is now_ms
--           loss_sign: what shows that Redis has lost changes: 'lost-tick', 'changed-server' or 'imbalance'; else ''
--           is_check_due: 1 if a consistency check is due because this call or an earlier one noticed a loss; else 0
local waiting, ready, active, visits, ended, settled = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local config, state, journal, deferred, changes = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local given_us, witness_ms, requested, chunk = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local heartbeat, newcomers_max, journal_max = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local fence_epoch, fence, short_ms, long_ms = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local silent_ms, settled_kept_ms, seen_epoch = tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[14]
local seen_ticks, seen_at_ms, has_changed_server = tonumber(ARGV[15]), ARGV[16], ARGV[17]

local epoch, paused, entrance, capacity, batch, interval_ms, claim_ms, check_in_ms, polls_per_second_max =
  unpack(redis.call('HMGET', config, 'epoch', 'paused', 'entrance', 'capacity', 'batch', 'interval_ms', 'claim_ms',
  'check_in_ms', 'polls_per_second_max'))
if not epoch then
  return { 'no-queue' }
end
local paused_at_ms, paused_ms, credit, credit_at_ms, claim_floor_ms, claim_floor_until_ms, taken_seconds,
  waiting_seconds, moving_since_ms, promoted_through, tick_gap_ms, waited_ms, waited_max_ms, testified_ms,
  watermark, line_since_ms, counted_at_ms, ticks, ticked_at_ms, check_due_ms, checked_imbalance =
  unpack(redis.call('HMGET', state,
  'paused_at_ms', 'paused_ms', 'credit', 'credit_at_ms', 'claim_floor_ms', 'claim_floor_until_ms', 'taken_seconds',
  'waiting_seconds', 'moving_since_ms', 'promoted_through', 'tick_gap_ms', 'waited_ms', 'waited_max_ms',
  'testified_ms', 'fence', 'line_since_ms', 'counted_at_ms', 'ticks',
  'ticked_at_ms', 'check_due_ms', 'checked_imbalance'))
local line = read_line_fields(state)
if not line or (fence_epoch ~= '' and (epoch ~= fence_epoch or tonumber(watermark or 0) < fence)) then
  return { 'no-queue' }
end
credit_at_ms, promoted_through = tonumber(credit_at_ms), tonumber(promoted_through)
local us, clocks_apart, ahead_ms = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)
-- One version for everything that this call does: no other change can come in between.
local change_v = next_version(us, line.v)
local claim_clock_ms = compute_claim_clock_ms(now_ms, paused, tonumber(paused_at_ms), tonumber(paused_ms))

-- Looks for a loss of changes. A queue of an earlier release has no imbalance to compare with, so it gets one.
ticks, check_due_ms = tonumber(ticks or 0), tonumber(check_due_ms or 0)
local imbalance, loss_sign = compute_imbalance(waiting, ready, active, state, line), ''
if seen_epoch == epoch and (ticks < seen_ticks or (ticks == seen_ticks and ticked_at_ms ~= seen_at_ms)) then
  loss_sign = 'lost-tick'
elseif has_changed_server == '1' then
  loss_sign = 'changed-server'
elseif checked_imbalance and check_due_ms == 0 and imbalance ~= tonumber(checked_imbalance) then
  loss_sign = 'imbalance'
end
ticks = ticks + 1
redis.call('HSET', state, 'ticks', ticks, 'ticked_at_ms', now_ms)
if not checked_imbalance then
  redis.call('HSET', state, 'checked_imbalance', imbalance)
end
if loss_sign ~= '' then
  -- What a check under way has compared may have been lost since, so the next check begins anew.
  check_due_ms = now_ms
  redis.call('HSET', state, 'check_due_ms', check_due_ms, 'check_heard_ms', 0, 'check_shards', 0)
end

-- Removes at most `limit` entries whose deadline has passed from a set. Returns how many, and their part of the journal
-- record: 'id visit step deadline_ms …', with the deadlines in line time.
local function remove_timed_out(set, clock_ms, limit, how, total)
  if clocks_apart then
    return 0, ''
  end
  local bound = string.format('%.0f', clock_ms)
  local due = redis.call('ZRANGEBYSCORE', set, '-inf', bound, 'WITHSCORES', 'LIMIT', 0, limit)
  local count = #due / 2
  if count == 0 then
    return 0, ''
  end
  local ids = {}
  for i = 1, count do
    ids[i] = due[2 * i - 1]
  end
  local visit_texts = redis.call('HMGET', visits, unpack(ids))
  -- An end has the form that include/end.lua describes. All ends of this call have the same version, way and time, and
  -- nearly all ready entries the same deadline as the one before, so few numbers are left to format.
  local version, way = string.format('%.0f %.0f ', epoch, change_v), string.format(' %s %.0f', how, now_ms)
  local ends, list, format = {}, {}, string.format
  local last_score, deadline_ms
  for i = 1, count do
    local id, score, visit_text = ids[i], due[2 * i], visit_texts[i]
    if score ~= last_score then
      last_score, deadline_ms = score, format(' %.0f', score + now_ms - clock_ms)
    end
    -- A place alone is a number. `%d` formats it exactly, as a 64-bit integer, and faster than `%.0f`.
    local place = tonumber(visit_text)
    local visit_step = place and format('%d 1', place % ORDER_RANGE) or string.match(visit_text, '^%d+ %d+')
    ends[2 * i - 1], ends[2 * i] = id, version .. visit_step .. deadline_ms .. way
    list[i] = id .. ' ' .. visit_step .. deadline_ms
  end
  redis.call('ZREMRANGEBYRANK', set, 0, count - 1)
  redis.call('HSET', ended, unpack(ends))
  if redis.call('EXISTS', settled) == 1 then
    redis.call('ZREM', settled, unpack(ids))
  end
  redis.call('HDEL', visits, unpack(ids))
  redis.call('HINCRBY', state, total, count)
  return count, table.concat(list, ' ')
end
local due_count = redis.call('XLEN', journal)
line.journal_full = due_count >= newcomers_max and 1 or 0
local is_journal_full = due_count + redis.call('ZCARD', deferred) >= journal_max
local remove_limit = is_journal_full and 0 or chunk
local no_shows, no_show_list = remove_timed_out(ready, claim_clock_ms, remove_limit, 'no-show', 'no_shows')
local expired, expired_list = remove_timed_out(active, now_ms, remove_limit - no_shows, 'expired', 'expired')

-- How many entries to promote, and which limit keeps it from being more.
local in_line = redis.call('ZCARD', waiting)
local taken = redis.call('ZCARD', ready) + redis.call('ZCARD', active)
batch, interval_ms = tonumber(batch), tonumber(interval_ms)
credit = refill_credit(tonumber(credit), credit_at_ms, now_ms, batch, interval_ms)
local promoted, limited_by = in_line, 'line'
local function apply_limit(name, maximum)
  if maximum < promoted then
    promoted, limited_by = maximum, name
  end
end
apply_limit('capacity', math.max(tonumber(capacity) - taken, 0))
apply_limit('pace', math.floor(credit / interval_ms))
apply_limit('requested', math.min(requested, chunk - no_shows - expired))
if paused == '1' or entrance == 'closed' then
  promoted, limited_by = 0, 'switch'
end
if is_journal_full then
  promoted, limited_by = 0, 'journal'
end
if clocks_apart then
  promoted, limited_by = 0, 'clock'
elseif testified_ms then
  redis.call('HDEL', state, 'testified_ms')
end

-- Finds the entries in `head` that wait for their second turn, and replaces their places there by what `visits` is to
-- store. Returns two parts of the journal record: the entries with their first turn, and those with their second one.
local function separate_second_turns(head)
  local ids, first, second = {}, {}, {}
  for i = 1, #head, 2 do
    ids[#ids + 1] = head[i]
  end
  for i, visit_text in ipairs(redis.call('HMGET', visits, unpack(ids))) do
    local list = visit_text and second or first
    list[#list + 1], list[#list + 2] = ids[i], head[2 * i]
    if visit_text then
      head[2 * i] = string.format('%.0f 3', (parse_visit(visit_text)))
    end
  end
  return table.concat(first, ' '), table.concat(second, ' ')
end

-- Moves the head of the line from waiting to ready.
local lanes = read_lanes(state)
local promoted_list, promoted_again_list, claim_by_ms = '', '', 0
if promoted > 0 then
  claim_ms = tonumber(claim_ms)
  if now_ms < tonumber(claim_floor_until_ms) then
    claim_ms = math.max(claim_ms, tonumber(claim_floor_ms))
  end
  claim_by_ms = now_ms + claim_ms
  local head = redis.call('ZRANGE', waiting, 0, promoted - 1, 'WITHSCORES')
  local highest_place = tonumber(head[#head])
  promoted_list = table.concat(head, ' ')
  count_gone_ahead(lanes, head)
  local waited_sum_ms, since_era_ms = 0, now_ms - ERA_MS
  waited_max_ms = tonumber(waited_max_ms or 0)
  for i = 2, #head, 2 do
    -- In a crowded millisecond the join time of a place may be ahead of the clock.
    local order = head[i] % ORDER_RANGE
    local wait_ms = since_era_ms - (order - order % ARRIVALS_PER_MS) / ARRIVALS_PER_MS
    if wait_ms > 0 then
      waited_sum_ms = waited_sum_ms + wait_ms
      if wait_ms > waited_max_ms then
        waited_max_ms = wait_ms
      end
    end
  end
  -- An entry that waits again gets its second turn. Few do: nearly always the counts show that there is none.
  if redis.call('HLEN', visits) > taken then
    promoted_list, promoted_again_list = separate_second_turns(head)
  end
  redis.call('ZREMRANGEBYRANK', waiting, 0, promoted - 1)
  redis.call('HSET', visits, unpack(head))
  -- All have the same deadline. So the list of entries and places becomes the one of scores and entries, less its first
  -- score and its last element: building a second list would take longer than this.
  local deadline_ms = string.format('%.0f', claim_clock_ms + claim_ms)
  for i = 2, #head, 2 do
    head[i] = deadline_ms
  end
  redis.call('ZADD', ready, deadline_ms, unpack(head, 1, #head - 1))

  promoted_through = math.max(promoted_through, highest_place)
  redis.call('HSET', state, 'credit', credit - promoted * interval_ms, 'credit_at_ms', math.max(now_ms, credit_at_ms),
    'promoted_through', promoted_through, 'waited_ms', tonumber(waited_ms or 0) + waited_sum_ms,
    'waited_max_ms', waited_max_ms)
  redis.call('HINCRBY', state, 'promoted', promoted)
  -- Tells held polls up to which place the line was promoted: see tick_message.rs.
  redis.call('SPUBLISH', changes,
    string.format('%.0f %.0f %.0f %.0f %.0f', highest_place, epoch, change_v, now_ms, claim_by_ms))
end

-- A queue that an earlier build configured has no settings for calling yet, so their defaults count.
local is_at_pace = limited_by == 'line' or limited_by == 'pace' or limited_by == 'requested'
call_visitors(state, waiting, lanes, now_ms, is_at_pace and math.floor(batch * 1000000 / interval_ms) or 0,
  tonumber(check_in_ms or 60000), tonumber(polls_per_second_max or 500))
if promoted + no_shows + expired > 0 then
  line.v = change_v
  redis.call('XADD', journal, '*', 'event', 'tick', 'epoch', epoch, 'v', change_v, 'at_ms', now_ms,
    'claim_by_ms', claim_by_ms, 'no_shows', no_show_list, 'expired', expired_list, 'promoted', promoted_list,
    'promoted_again', promoted_again_list)
end
if not clocks_apart then
  delete_settled_ends(ended, settled, now_ms, settled_kept_ms)
end
if heartbeat == '1' then
  local gap_ms = line.heartbeat_ms > 0 and now_ms - line.heartbeat_ms or 0
  redis.call('HSET', state, 'tick_gap_ms', math.max(gap_ms, tonumber(tick_gap_ms or 0)))
  line.heartbeat_ms = now_ms
end
write_line_fields(state, line)

-- Adds the time since the last tick to the sums for the moving averages. Counts the seconds at which the clock turned,
-- so that many ticks within a second add up to the same as one.
counted_at_ms = tonumber(counted_at_ms or 0)
local passed_ms = counted_at_ms > 0 and math.max(now_ms - counted_at_ms, 0) or 0
local passed_seconds = math.floor(now_ms / 1000) - math.floor((now_ms - passed_ms) / 1000)
taken_seconds = tonumber(taken_seconds or 0) + taken * passed_seconds
waiting_seconds = tonumber(waiting_seconds or 0) + in_line * passed_seconds
local is_stopped = limited_by == 'switch' or limited_by == 'journal' or limited_by == 'clock'
local is_moving = in_line > promoted and not is_stopped
-- After a silence the speed of the line is measured anew.
local previous_moving_since_ms = passed_ms <= silent_ms and tonumber(moving_since_ms or 0) or 0
redis.call('HSET', state, 'counted_at_ms', now_ms, 'taken_seconds', taken_seconds, 'waiting_seconds', waiting_seconds,
  'line_since_ms', update_since_ms(is_moving, tonumber(line_since_ms or 0), now_ms),
  'moving_since_ms', update_since_ms(is_moving, previous_moving_since_ms, now_ms))
rotate_windows(state, line, now_ms, short_ms, long_ms, in_line - promoted, taken + promoted, taken_seconds,
  waiting_seconds)
return { 'promoted', promoted, no_shows, expired, limited_by, in_line - promoted, redis.call('ZCARD', ready),
  redis.call('ZCARD', active), promoted_through, now_ms, clocks_apart and 1 or 0, ahead_ms, line.offset_ms,
  line.epoch, ticks, loss_sign, check_due_ms > 0 and 1 or 0 }
