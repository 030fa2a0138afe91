#!lua flags=allow-oom
-- Returns a snapshot of a queue, which every process needs about once a second. The first one that asks in a second
-- stores it for the others. The fields of `line` and the clocks are always current. A snapshot for operators is never
-- stored, and has counts that no visitor needs.
-- allow-oom: the stored snapshot has some kilobytes, and a full server must still tell visitors what it knows.
-- include: hashes line line_table clock places scores lanes words
-- KEYS: waiting ready active held ended settled present config state journal deferred dead_letters view
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   held: sorted set, entry whose slot is held -> when the slot becomes free, in Unix milliseconds
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   settled: sorted set, entry -> line time since which the backup has the end in `ended`, in Unix milliseconds
--   present: sorted set, called entry that checked in lately -> place
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
--   journal: stream, changes that the backup does not have yet
--   deferred: sorted set, `entry kind` -> when a change that the backup refused is due again, in Unix milliseconds
--   dead_letters: stream, dead letters, the records that could not be written to the backup
--   view: string, the server's time of the stored snapshot in Unix microseconds, a space, and the snapshot as JSON
-- ARGV: given_us witness_ms age_max_ms
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   age_max_ms: the script may return a stored snapshot that is younger than this, in milliseconds; 0 for a new one
-- Output: {'no-queue'}: Redis does not have the queue
--         {'view', now_ms, clocks_apart, ahead_ms, line, snapshot}:
--           clocks_apart, ahead_ms: 1 if the server's clock and the caller's are too far apart, else 0; and how far the
--             server's is ahead, in milliseconds
--           line: the fields that line.lua describes and their values, as one list
--           snapshot: a JSON list of waiting, ready, active, held, journal records, config, state, load,
--             session_ends_in_ms and waiting_by_lane; if age_max_ms is 0, also of unsettled ends, dead letters, called and
--             present:
--             waiting, ready, active, held: how many entries are in each state, and how many slots are held
--             config, state: the fields and values of these hashes, each as one list
--             load: those of the last load report of the protected service
--             session_ends_in_ms: in how many milliseconds the sessions of active entries end: the first one, the one
--               at each twentieth of all sessions by their end, and the last one; empty if no entry is active
--             waiting_by_lane: how many entries wait in each lane, from lane 0 on
--             unsettled ends: how many ends the backup may lack
--             called, present: how many waiting entries are called and not absent, and how many are present
local waiting, ready, active, held, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local settled, present, config, state, journal = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local deferred, dead_letters, view = KEYS[11], KEYS[12], KEYS[13]
local given_us, witness_ms, age_max_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local SESSION_QUANTILES = 20

local function list_line_fields(line)
  local list = {}
  for name, value in pairs(line) do
    list[#list + 1] = name
    list[#list + 1] = type(value) == 'number' and string.format('%.0f', value) or tostring(value)
  end
  return list
end

-- Lists the fields of `state` and their values without the packed field, which JSON cannot hold.
local function list_state_fields(fields)
  local list = {}
  for name, value in pairs(fields.values) do
    if name ~= 'line' then
      list[#list + 1] = name
      list[#list + 1] = value
    end
  end
  return list
end

-- The samples go by rank, so that one long session among many short ones hides nothing.
local function sample_session_ends(active_count, now_ms)
  local READ_WHOLE_MAX = 200 -- so many are read faster at once
  local session_ends_in_ms = {}
  if active_count > 0 and active_count <= READ_WHOLE_MAX then
    local all = redis.call('ZRANGE', active, 0, -1, 'WITHSCORES')
    for quantile = 0, SESSION_QUANTILES do
      local rank = math.floor((active_count - 1) * quantile / SESSION_QUANTILES)
      session_ends_in_ms[quantile + 1] = math.max(tonumber(all[2 * rank + 2]) - now_ms, 0)
    end
  elseif active_count > 0 then
    for quantile = 0, SESSION_QUANTILES do
      local rank = math.floor((active_count - 1) * quantile / SESSION_QUANTILES)
      local _, end_ms = unpack(redis.call('ZRANGE', active, rank, rank, 'WITHSCORES'))
      session_ends_in_ms[quantile + 1] = math.max(tonumber(end_ms) - now_ms, 0)
    end
  end
  return session_ends_in_ms
end

-- Nearly always all entries are in one lane.
local function count_by_lane(waiting_count, has_lanes)
  local counts = {}
  for lane = 0, LANES - 1 do
    counts[lane + 1] = 0
  end
  if waiting_count > 0 then
    local first_lane, last_lane = LANE_DEFAULT, LANE_DEFAULT
    if has_lanes then
      first_lane, last_lane = find_outer_lanes(waiting)
    end
    for lane = first_lane, last_lane do
      counts[lane + 1] = first_lane == last_lane and waiting_count
        or count_between(waiting, find_lane_bottom(lane) - 1, find_lane_top(lane))
    end
  end
  return counts
end

local function take_snapshot(config_fields, fields, now_ms, has_lanes)
  local waiting_count, active_count = redis.call('ZCARD', waiting), redis.call('ZCARD', active)
  local snapshot = { waiting_count, redis.call('ZCARD', ready), active_count, redis.call('ZCARD', held),
    redis.call('XLEN', journal) + redis.call('ZCARD', deferred), config_fields, list_state_fields(fields),
    split_words(hashes.get(fields, 'load') or ''), sample_session_ends(active_count, now_ms),
    count_by_lane(waiting_count, has_lanes) }
  if age_max_ms == 0 then
    snapshot[#snapshot + 1] = redis.call('HLEN', ended) - redis.call('ZCARD', settled)
    snapshot[#snapshot + 1] = redis.call('XLEN', dead_letters)
    snapshot[#snapshot + 1] = count_called(waiting, read_lanes(fields))
    snapshot[#snapshot + 1] = redis.call('ZCARD', present)
  end
  return cjson.encode(snapshot)
end

-- Returns the stored snapshot; nil if there is none that is young enough.
local function read_stored(server_us)
  local stored = age_max_ms > 0 and redis.call('GET', view)
  if stored then
    local taken_us, snapshot = string.match(stored, '^(%d+) (.*)$')
    local age_us = server_us - tonumber(taken_us)
    return age_us >= 0 and age_us < age_max_ms * 1000 and snapshot or nil
  end
end

local server_us = read_server_time_us(given_us)
local snapshot = read_stored(server_us)
local fields = snapshot and state or hashes.open(state)
local line = read_line_fields(fields)
if not line then
  return { 'no-queue' }
end
local us, clocks_apart, ahead_ms = read_line_time(server_us, witness_ms, line.v, line.heartbeat_ms, line.offset_ms)
local now_ms = math.floor(us / 1000)
if not snapshot then
  local config_fields = redis.call('HGETALL', config)
  if #config_fields == 0 then
    return { 'no-queue' }
  end
  snapshot = take_snapshot(config_fields, fields, now_ms, line.has_lanes)
  if age_max_ms > 0 then
    redis.call('SET', view, string.format('%.0f %s', server_us, snapshot))
  end
end
return { 'view', now_ms, clocks_apart and 1 or 0, ahead_ms, list_line_fields(line), snapshot }
