-- The pace of a queue, which may follow the load of the protected service: see domain/adaptive_pace.rs, which has the
-- same rules. The field `load` of the hash `state` has the last load report as `at_ms _ healthy _`, with `tps _`
-- and `latency_ms _` if the report has them. `credit_batch` has the batch by which the pace bucket refills since it was stored.
-- Include `pace` before this file.

-- Returns the batch in force with these settings (fields of the hash `config`), and whether the service is down.
local function compute_batch(settings, load, now_ms)
  if settings.adaptive ~= '1' then
    return tonumber(settings.batch), false
  end
  local batch_min, batch_max = tonumber(settings.batch_min), tonumber(settings.batch_max)
  local at_ms, healthy = string.match(load or '', '^at_ms (%d+) healthy (%d)')
  if healthy ~= '1' or now_ms - at_ms >= tonumber(settings.load_ttl_ms) then
    return batch_min, true
  end
  local low, high = tonumber(settings.load_low), tonumber(settings.load_high)
  local measured = tonumber(string.match(load, ' ' .. settings.load_measure .. ' (%d+)'))
  if not measured or measured >= high then
    return batch_min, false
  elseif measured <= low then
    return batch_max, false
  end
  return batch_max - math.floor((batch_max - batch_min) * (measured - low) / (high - low)), false
end

-- Returns the pace bucket at `now_ms` as a table: `credit` and `at_ms`; `batch` and `interval_ms`, the pace in force;
-- `stored_batch`, the batch by which it has refilled; `is_passthrough`, whether no pace counts; and `is_service_down`,
-- whether the protected service stops the promotion.
local function read_bucket(config, state, now_ms)
  local names, settings = { 'batch', 'interval_ms', 'adaptive', 'batch_min', 'batch_max', 'load_low', 'load_high',
    'load_measure', 'load_ttl_ms', 'mode' }, {}
  for i, value in ipairs({ hashes.get_many(config, unpack(names)) }) do
    settings[names[i]] = value
  end
  local credit, at_ms, stored_batch, load =
    hashes.get_many(state, 'credit', 'credit_at_ms', 'credit_batch', 'load')
  local batch, is_service_down = compute_batch(settings, load, now_ms)
  local interval_ms, is_passthrough = tonumber(settings.interval_ms), settings.mode == 'passthrough'
  stored_batch = tonumber(stored_batch)
  credit = refill_credit(tonumber(credit), tonumber(at_ms), now_ms, stored_batch, interval_ms)
  return { credit = math.min(credit, batch * interval_ms), at_ms = math.max(now_ms, tonumber(at_ms)), batch = batch,
    interval_ms = interval_ms, stored_batch = stored_batch, is_passthrough = is_passthrough,
    is_service_down = is_service_down and not is_passthrough }
end

-- Stores the bucket after `entries` were promoted, if that or another batch has changed it.
local function spend_tokens(state, bucket, entries)
  if entries == 0 and bucket.batch == bucket.stored_batch then
    return
  end
  hashes.set(state, 'credit', bucket.credit - entries * bucket.interval_ms, 'credit_at_ms', bucket.at_ms,
    'credit_batch', bucket.batch)
end
