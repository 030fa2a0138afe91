#!lua
-- Puts a configuration in force, unless a later one is, or the queue is of an earlier epoch than it; makes an empty queue
-- of it where there is none and `create` is set.
-- include: clock pace new_state fields
-- KEYS: config state lost
-- ARGV: given_us witness_ms create ...
-- ...:  field value field value …, the whole of the configuration
-- Output: {'no-queue'}
--         {'created'} | {'changed'} | {'same'} | {'older'} | {'behind'}
local config, state, lost = KEYS[1], KEYS[2], KEYS[3]
local given_us, witness_ms, create = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local new, list = given_fields(4)
local old = redis.call('HMGET', config, 'epoch', 'revision', 'settings', 'paused', 'batch', 'interval_ms', 'claim_ms',
  'settings_order', 'capacity')

if not old[1] then
  -- Whoever is to create it may have slept while somebody began to put it back.
  if create ~= '1' or redis.call('EXISTS', lost) == 1 then
    return { 'no-queue' }
  end
  local us = line_time(given_us, witness_ms, 0, 0, 0)
  local now_ms = math.floor(us / 1000)
  new_state(state, us, now_ms, new.batch * new.interval_ms, 0, new)
  redis.call('HSET', config, unpack(list))
  return { 'created' }
end

local epoch, old_epoch = tonumber(new.epoch), tonumber(old[1])
if epoch > old_epoch then
  return { 'behind' }
end
if epoch < old_epoch or tonumber(new.settings_order) < tonumber(old[8] or 0) then
  return { 'older' }
end
if old[2] == new.revision and old[3] == new.settings then
  redis.call('HSET', config, 'settings_order', new.settings_order)
  return { 'same' }
end
local s = redis.call('HMGET', state, 'v', 'credit', 'credit_at_ms', 'paused_at_ms', 'paused_ms', 'claim_floor_ms',
  'claim_floor_until_ms', 'offset_ms', 'heartbeat_ms', 'moving_since_ms')
local us = line_time(given_us, witness_ms, s[8], tonumber(s[1]), s[9])
local now_ms = math.floor(us / 1000)
-- A pause, a bucket and a claim time begin now: line time must not go back behind them.
redis.call('HSET', state, 'v', next_version(us, tonumber(s[1])))

-- The bucket keeps its whole tokens under the new pace: see domain/pace.rs.
local old_batch, old_interval_ms = tonumber(old[5]), tonumber(old[6])
local new_batch, new_interval_ms = tonumber(new.batch), tonumber(new.interval_ms)
local credit = refilled(tonumber(s[2]), tonumber(s[3]), now_ms, old_batch, old_interval_ms)
if old_interval_ms ~= new_interval_ms then
  credit = math.floor(credit / old_interval_ms) * new_interval_ms
end
redis.call('HSET', state, 'credit', math.min(credit, new_batch * new_interval_ms), 'credit_at_ms',
  math.max(now_ms, tonumber(s[3])))

-- From now on another rate is seen: see domain/estimate/windows.rs.
local repaced = old_batch ~= new_batch or old_interval_ms ~= new_interval_ms or old[9] ~= new.capacity
if repaced and tonumber(s[10] or 0) > 0 then
  redis.call('HSET', state, 'line_since_ms', now_ms, 'moving_since_ms', now_ms)
end

-- The claim clock stands still while the queue is paused.
if old[4] ~= '1' and new.paused == '1' then
  redis.call('HSET', state, 'paused_at_ms', now_ms)
elseif old[4] == '1' and new.paused ~= '1' then
  redis.call('HSET', state, 'paused_at_ms', 0, 'paused_ms', tonumber(s[5]) + now_ms - tonumber(s[4]))
end

-- A lowered claim time takes effect when the old one has passed: polls were paced by it.
local old_claim_ms = tonumber(old[7])
if now_ms < tonumber(s[7]) then
  old_claim_ms = math.max(old_claim_ms, tonumber(s[6]))
end
if tonumber(new.claim_ms) < old_claim_ms then
  redis.call('HSET', state, 'claim_floor_ms', old_claim_ms, 'claim_floor_until_ms', now_ms + old_claim_ms)
end
redis.call('HSET', state, gate(new))
redis.call('HSET', config, unpack(list))
return { 'changed' }
