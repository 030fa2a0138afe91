#!lua flags=allow-oom
-- Puts a configuration into force. It creates an empty queue if Redis has none and `create` is set. A switch comes into
-- force before the backup has it, and then no configuration of the backup replaces it until settle_switches.lua.
-- An earlier configuration never replaces a later one. A queue of an earlier epoch than the configuration is not
-- changed.
-- include: hashes line line_table clock versions pace adaptive_pace places scores lanes entrance opening new_state fields
-- KEYS: active config state lost view tombstone
--   active: sorted set, entry -> session end, in Unix milliseconds
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   lost: hash, epoch of a restore of the queue that has begun, and generation and last visit before it
--   view: string, a stored snapshot of the queue; a new configuration removes it
--   tombstone: hash, epoch and generation of the queue before it was deleted; a queue of a later epoch removes it
-- ARGV: given_us witness_ms create switched revision_before ...
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   create: 1 to create the queue if Redis does not have it, else 0
--   switched: the name of a switch that the backup does not have; else empty
--   revision_before: with a switch, the revision of the configuration that the caller has changed; else empty
--   ...: the whole configuration, as field value field value …
-- Output: {'no-queue'}: Redis does not have the queue, and `create` is 0, a restore is under way, or the queue was
--           deleted after the caller read it
--         {'created'}: the queue was created
--         {'changed'}: the configuration is in force now
--         {'same'}: the configuration was in force already
--         {'older'}: a later configuration is in force, or with a switch another one than the caller has changed
--         {'unsaved'}: nothing changed: a switch is in force that the backup may not have
--         {'behind'}: the queue is of an earlier epoch than the configuration
local active, config, state, lost, view, tombstone = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local given_us, witness_ms, create = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local switched, revision_before = ARGV[4], ARGV[5]

local SETTINGS_SPREAD_MS = 2000 -- how long a process may go on with earlier settings

local new, new_fields = read_configuration(6)
local old_epoch, old_revision, old_settings, old_paused, old_batch, old_interval_ms, old_claim_ms, old_settings_order,
  old_capacity, old_pass_ms, old_session_ms, old_mode, old_adaptive, unsaved, switch_serial =
    unpack(redis.call('HMGET', config, 'epoch', 'revision', 'settings', 'paused', 'batch', 'interval_ms', 'claim_ms',
      'settings_order', 'capacity', 'pass_ms', 'session_ms', 'mode', 'adaptive', 'unsaved_switches', 'switch_serial'))

if not old_epoch then
  -- The caller may have been suspended while another one began to restore the queue, which `lost` shows, or deleted it.
  local is_deleted = tonumber(redis.call('HGET', tombstone, 'epoch') or 0) >= tonumber(new.epoch)
  if create ~= '1' or is_deleted or redis.call('EXISTS', lost) == 1 then
    return { 'no-queue' }
  end
  local us = read_line_time(given_us, witness_ms, 0, 0, 0)
  local now_ms = math.floor(us / 1000)
  write_new_state(state, us, now_ms, new.batch * new.interval_ms, 0, WINDOW_ENTRIES_MIN, new)
  redis.call('HSET', config, unpack(new_fields))
  redis.call('DEL', view, tombstone)
  return { 'created' }
end

old_epoch = tonumber(old_epoch)
local new_epoch = tonumber(new.epoch)
if new_epoch > old_epoch then
  return { 'behind' }
end
if new_epoch < old_epoch or tonumber(new.settings_order) < tonumber(old_settings_order or 0) then
  return { 'older' }
end
if switched == '' and unsaved then
  return { 'unsaved' }
end
if switched ~= '' and old_revision ~= revision_before then
  return { 'older' }
end
if old_revision == new.revision and old_settings == new.settings then
  redis.call('HSET', config, 'settings_order', new.settings_order)
  if new.root_key then
    redis.call('HSET', config, 'root_key', new.root_key)
  end
  if new.opened_at_ms ~= '0' then
    redis.call('HSET', config, 'opened_at_ms', new.opened_at_ms)
  end
  return { 'same' }
end
local line = read_line_fields(state)
if not line then
  return { 'no-queue' }
end
local stored = read_numbers(state, { 'credit', 'credit_at_ms', 'credit_batch', 'paused_at_ms', 'paused_ms', 'claim_floor_ms',
  'claim_floor_until_ms' })
local us = read_line_time(given_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)
-- The version rises because a pause, a bucket and a claim time may begin now: line time must not go back behind them.
line.v = next_version(us, line.v)

-- A queue that has opened to a visitor stays open, whatever the new settings say: see domain/opening.rs.
local opens_at_ms, opened_at_ms = read_opening(config)
if opened_at_ms == 0 and line.last_order > 0 then
  if opens_at_ms > 0 and opens_at_ms <= now_ms then
    opened_at_ms = opens_at_ms
  elseif opens_at_ms == 0 and tonumber(new.opens_at_ms) > 0 then
    opened_at_ms = now_ms
  end
end

-- The bucket keeps its whole tokens under the new pace: see domain/pace.rs.
old_batch, old_interval_ms = tonumber(old_batch), tonumber(old_interval_ms)
local new_batch, new_interval_ms = tonumber(new.batch), tonumber(new.interval_ms)
local credit = refill_credit(stored.credit, stored.credit_at_ms, now_ms, stored.credit_batch or old_batch, old_interval_ms)
local batch_in_force = compute_batch(new, redis.call('HGET', state, 'load'), now_ms)
if old_interval_ms ~= new_interval_ms then
  credit = math.floor(credit / old_interval_ms) * new_interval_ms
end
redis.call('HSET', state, 'credit', math.min(credit, batch_in_force * new_interval_ms), 'credit_at_ms',
  math.max(now_ms, stored.credit_at_ms), 'credit_batch', batch_in_force)

-- The rate is observed from the start again, since the one before this change says nothing about the new one: see
-- domain/estimate/windows.rs.
local rate_changes = old_batch ~= new_batch or old_interval_ms ~= new_interval_ms or old_capacity ~= new.capacity
  or (old_mode or 'queue') ~= new.mode or (old_adaptive or '0') ~= new.adaptive
if rate_changes then
  redis.call('HSET', state, 'paced', 0, 'paced_seconds', 0, 'rate_since_ms', now_ms)
end

-- The claim clock stands still while the queue is paused.
if old_paused ~= '1' and new.paused == '1' then
  redis.call('HSET', state, 'paused_at_ms', now_ms)
elseif old_paused == '1' and new.paused ~= '1' then
  redis.call('HSET', state, 'paused_at_ms', 0, 'paused_ms', stored.paused_ms + now_ms - stored.paused_at_ms)
end

-- A shorter claim time takes effect when the old one has passed: until then clients poll at the old rate, and could
-- miss a shorter turn.
old_claim_ms = tonumber(old_claim_ms)
if now_ms < stored.claim_floor_until_ms then
  old_claim_ms = math.max(old_claim_ms, stored.claim_floor_ms)
end
if tonumber(new.claim_ms) < old_claim_ms then
  redis.call('HSET', state, 'claim_floor_ms', old_claim_ms, 'claim_floor_until_ms', now_ms + old_claim_ms)
end

-- Until when passes may be valid that were issued before they became shorter. No pass outlasts its session.
if old_pass_ms and old_pass_ms ~= new.pass_ms then
  local pass_ms = tonumber(old_pass_ms)
  if pass_ms == 0 then
    local last_session_end_ms = tonumber(redis.call('ZREVRANGE', active, 0, 0, 'WITHSCORES')[2] or 0)
    pass_ms = math.max(last_session_end_ms - now_ms, tonumber(old_session_ms))
  end
  local passes_until_ms = tonumber(redis.call('HGET', state, 'passes_until_ms') or 0)
  redis.call('HSET', state, 'passes_until_ms', math.max(passes_until_ms, now_ms + pass_ms + SETTINGS_SPREAD_MS))
end
write_entrance_fields(state, line, new)
redis.call('HSET', config, unpack(new_fields))
if opened_at_ms > 0 then
  redis.call('HSET', config, 'opened_at_ms', string.format('%.0f', opened_at_ms))
end
if switched ~= '' then
  local names = unsaved and ' ' .. unsaved .. ' ' or ' '
  if not string.find(names, ' ' .. switched .. ' ', 1, true) then
    names = names .. switched .. ' '
  end
  redis.call('HSET', config, 'unsaved_switches', string.match(names, '^ (.*) $'),
    'switch_serial', tonumber(switch_serial or 0) + 1)
end
redis.call('DEL', view)
return { 'changed' }
