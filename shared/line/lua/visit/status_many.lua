#!lua flags=no-writes
-- Says where each of many entries is, as `status` does for one. It needs five commands for all entries, and one more
-- for each waiting entry.
-- include: hashes line line_table clock versions places scores claim_clock visits end queue
-- KEYS: waiting ready active visits ended config state
--   waiting: sorted set, entry -> place; the lowest place is promoted first
--   ready: sorted set, entry -> claim deadline by the claim clock, in Unix milliseconds
--   active: sorted set, entry -> session end, in Unix milliseconds
--   visits: hash, entry -> visit and step, if the entry is ready, active, held or waiting again
--   ended: hash, entry -> its end, until some seconds after the backup has it
--   config: hash, the queue's configuration; without it Redis does not have the queue
--   state: hash, the queue's version, totals, clocks and pace bucket
-- ARGV: given_us witness_ms ...
--   given_us: the server's clock as a test sets it, in Unix microseconds; empty in production: Redis's TIME counts
--   witness_ms: the caller's clock, in Unix milliseconds
--   ...: the entries; the caller sends some hundreds at most, because `unpack` is bounded
-- Output: {'no-queue'}: Redis does not have the queue
--         {'lookups', …}: and for each entry, in the order of the arguments, one of
--           'here', state, place or visit, position or deadline_ms, now_ms: the entry is in the line
--           'gone', 'ended', epoch, v, visit, step, step_ms, how, at_ms: the entry ended in this way
--           'gone', 'unknown', now_ms: Redis knows nothing of the entry
local waiting, ready, active, visits, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local config, state = KEYS[6], KEYS[7]
local given_us, witness_ms = ARGV[1], tonumber(ARGV[2])

local queue = read_queue(config, state, given_us, witness_ms)
if not queue then
  return { 'no-queue' }
end
local keys = { waiting = waiting, ready = ready, active = active, visits = visits, ended = ended }
local ids = { unpack(ARGV, 3) }

-- Reads the scores of entries in the sets that have them by `visits`. Returns them by entry.
local function read_scores(ids_by_set)
  local scores = {}
  for set, of_set in pairs(ids_by_set) do
    for i, score in ipairs(#of_set > 0 and redis.call('ZMSCORE', keys[set], unpack(of_set)) or {}) do
      scores[of_set[i]] = score
    end
  end
  return scores
end

-- Describes all entries, in order.
local function describe_entries()
  local ids_by_set, parsed = { waiting = {}, ready = {}, active = {} }, {}
  for i, text in ipairs(redis.call('HMGET', visits, unpack(ids))) do
    local visit, step, set, is_fast_tracked = parse_visit(text)
    parsed[i] = { visit = visit, step = step, set = set, is_fast_tracked = is_fast_tracked }
    local of_set = ids_by_set[set] -- none if a slot is held
    if of_set then
      of_set[#of_set + 1] = ids[i]
    end
  end
  local scores, entries, missing = read_scores(ids_by_set), {}, {}
  for i, id in ipairs(ids) do
    local own = parsed[i]
    entries[i] = describe_entry(queue, own.visit, own.step, own.set, own.is_fast_tracked, scores[id])
    if not entries[i] then
      missing[#missing + 1] = i
    end
  end
  if #missing > 0 then
    local missing_ids = {}
    for at, i in ipairs(missing) do
      missing_ids[at] = ids[i]
    end
    for at, end_text in ipairs(redis.call('HMGET', ended, unpack(missing_ids))) do
      entries[missing[at]] = describe_missing(end_text)
    end
  end
  return entries
end

local reply = { 'lookups' }
local function append(values)
  for _, value in ipairs(values) do
    reply[#reply + 1] = value
  end
end
for i, entry in ipairs(describe_entries()) do
  if entry.is_live then
    append({ 'here' })
    append(build_status(queue, keys, ids[i], entry))
  else
    append(build_gone(queue, entry))
  end
end
return reply
