-- Writes the hash `state`. Include `entrance` before this file.

-- Writes the part of the configuration that `state` repeats for enter.lua and append_to_line.lua.
local function write_entrance_fields(state, line, configuration)
  line.epoch, line.queue_limit = tonumber(configuration.epoch), parse_limit(configuration.queue_limit)
  line.entrance, line.entrance_changes_at_ms = parse_entrance(configuration.entrance, configuration.closes_at_ms,
    configuration.ends_at_ms, configuration.mode)
  write_line_fields(state, line)
  redis.call('HSET', state, 're_entry', configuration.re_entry, 'paused', configuration.paused)
end

-- Writes the state of a queue that Redis did not have, and returns its line fields. They come first in the hash, because
-- Redis searches a small one from its front.
local function write_new_state(state, v, now_ms, credit, last_order, newcomers_called, configuration)
  redis.call('DEL', state)
  -- The next tick counts those whom a restored queue may call. A new queue calls the first visitors by entering.
  local has_presence = tonumber(configuration.presence_ms) > 0
  local line = { v = v, last_order = last_order, entered = 0, offset_ms = 0, heartbeat_ms = 0, journal_full = 0, absent = 0,
    newcomers_called = has_presence and newcomers_called or -1 }
  write_entrance_fields(state, line, configuration)
  -- What earlier settings have given out, as the backup keeps it: see domain/kept_times.rs.
  local passes_until_ms, claim_floor_ms, claim_floor_until_ms =
    string.match(configuration.kept_times or '', '^(%d+) (%d+) (%d+) ')
  redis.call('HSET', state,
    'paused_at_ms', configuration.paused == '1' and now_ms or 0, 'paused_ms', 0,
    'credit', credit, 'credit_at_ms', now_ms, 'credit_batch', configuration.batch, 'passes_until_ms', passes_until_ms or 0,
    'claim_floor_ms', claim_floor_ms or 0, 'claim_floor_until_ms', claim_floor_until_ms or 0,
    'promoted_through', 0, 'fast_tracked', 0, 'bypassed', 0, 'promoted', 0, 'claimed', 0, 'completed', 0, 'left', 0,
    'evicted', 0, 'dismissed', 0, 'overlong_waits', 0, 'moving_since_ms', now_ms, 'expired', 0,
    'no_shows', 0, 'absences', 0, 'returned', 0, 'gone_ahead_offset', 0, 'tick_gap_ms', 0, 'waited_ms', 0,
    'waited_max_ms', 0,
    'reported_at_ms', 0, 'fence', 0, 'fence_v', 0, 'fallback_tick_at_ms', 0, 'counted_at_ms', 0, 'taken_seconds', 0,
    'waiting_seconds', 0, 'paced', 0, 'paced_seconds', 0, 'rate_since_ms', 0, 'ticks', 0, 'ticked_at_ms', 0)
  -- A queue that was just created or restored agrees with the backup, so its first consistency check can wait.
  redis.call('HSET', state, 'checked_at_ms', now_ms, 'checked_v', 0, 'check_v', 0,
    'check_heard_ms', 0, 'check_shards', 0, 'check_due_ms', 0, 'loss_check_began_ms', 0, 'checked_imbalance', 0)
  if has_presence then
    redis.call('HSET', state, 'presence', string.format('%.0f %.0f 0 %.0f %.0f 0 0', now_ms, now_ms, now_ms, now_ms))
  end
  for _, total in ipairs({ 'entered', 'promoted', 'completed', 'left', 'expired', 'no_shows', 'absences' }) do
    redis.call('HSET', state, 'reported_' .. total, 0)
  end
  return line
end
