-- Adds single changes to the journal and removes records from it. The journal holds at most one record of each entry and
-- kind, so that a change which is said again takes no more memory. `keys` is a table with these keys:
--   journal: stream, the changes that are due
--   journaled: hash, `entry kind` -> the stream id of the record; or, if the backup refused the change and it is to be
--     tried again later, the record itself, as `field value field value …`
--   deferred: sorted set, `entry kind` -> when such a record is due again, by the server's clock, in Unix milliseconds
-- The records of ticks, which contain many changes, are only in the stream.

-- The kind of a change, by its event; every other event is an end. No kind has what another one tells the backup: the
-- place, a move to another lane, the times of promotion and claim, the last deadline, and the end.
local CHANGE_KINDS = {
  entered = 'place',
  ['fast-tracked'] = 'place',
  ['came-back'] = 'place',
  ['lane-moved'] = 'lane',
  promoted = 'turn',
  claimed = 'claim',
  extended = 'deadline',
  ['still-ready'] = 'deadline',
}
local TIMEOUTS = { ['no-show'] = true, expired = true, absence = true, dismissed = true,
  ['overlong-wait'] = true }
local NO_SOURCE = '-'
local PROVISIONAL = { entered = true, ['fast-tracked'] = true }

-- Reads `field, value, field, value, …`; nil if it is not a single change.
local function read_journal_change(values)
  local change = {}
  for i = 1, #values, 2 do
    change[values[i]] = values[i + 1]
  end
  -- A drawn place names its visit: `place/visit`.
  local number = tonumber(string.match(change.number or '', '%d+$'))
  local step, step_ms = tonumber(change.step), tonumber(change.step_ms)
  if not (change.member and change.event and number and step and step_ms) then
    return nil
  end
  change.kind = CHANGE_KINDS[change.event] or 'end'
  change.fact = { visit = number % ORDER_RANGE, step = step, step_ms = step_ms,
    is_over = TIMEOUTS[change.event] or false }
  change.after = tonumber(change.after or 0)
  return change
end

local function is_deferred_record(stored)
  return string.find(stored, ' ', 1, true) ~= nil
end

-- Returns the record of this entry and kind that the journal has, as a change with the field `stored`; nil if it has none.
local function find_journaled(keys, field)
  local stored = redis.call('HGET', keys.journaled, field)
  if not stored then
    return nil
  end
  local values
  if is_deferred_record(stored) then
    values = split_words(stored)
  else
    local record = redis.call('XRANGE', keys.journal, stored, stored)[1]
    values = record and record[2] or {}
  end
  local change = read_journal_change(values)
  if change then
    change.stored = stored
  end
  return change
end

-- Whether a new change replaces the record that the journal has of the same entry and kind. The greater fact counts. A
-- provisional visit that the line has dropped since then is the exception: see domain/reconcile.rs.
local function replaces_journaled(new, old)
  if is_earlier_fact(old.fact, new.fact) then
    return true
  elseif is_earlier_fact(new.fact, old.fact) then
    local new_epoch, old_epoch = tonumber(new.epoch), tonumber(old.epoch)
    local is_later = new_epoch > old_epoch or new_epoch == old_epoch and tonumber(new.v) > tonumber(old.v)
    return PROVISIONAL[old.event] and new.fact.visit < old.fact.visit and is_later
  end
  return new.after > old.after
end

-- Adds a change to the journal, or leaves the record as it is that says the same or more. `values` is the change as
-- `field, value, …`. `retry` is nil, or a table with `tries` and `at_ms` if the backup refused the change. Returns false
-- if the journal has `limit` records and the change would add one.
local function add_to_journal(keys, values, limit, retry)
  local new = read_journal_change(values)
  local field = new.member .. ' ' .. new.kind
  local old = find_journaled(keys, field)
  if new.event == 'claimed' and old and old.fact.visit == new.fact.visit and is_earlier_fact(old.fact, new.fact) then
    -- The first claim has the time of the claim. A repeated one only tells a later session end.
    field = new.member .. ' deadline'
    old = find_journaled(keys, field)
  end
  if old and not replaces_journaled(new, old) then
    return true
  end
  if not old and limit and redis.call('XLEN', keys.journal) + redis.call('ZCARD', keys.deferred) >= limit then
    return false
  end
  if old then
    if is_deferred_record(old.stored) then
      redis.call('ZREM', keys.deferred, field)
    else
      redis.call('XDEL', keys.journal, old.stored)
    end
    if not retry and old.tries then
      retry = { tries = old.tries, at_ms = tonumber(old.retry_at_ms), is_due = not is_deferred_record(old.stored) }
    end
    if PROVISIONAL[new.event] and old.after > new.after then
      for i = 1, #values, 2 do
        if values[i] == 'after' then
          values[i + 1] = string.format('%.0f', old.after)
        end
      end
    end
    if new.source == NO_SOURCE and old.source and old.fact.visit == new.fact.visit then
      for i = 1, #values, 2 do
        if values[i] == 'source' then
          values[i + 1] = old.source
        end
      end
    end
  end
  if retry then
    table.insert(values, 1, 'tries')
    table.insert(values, 2, retry.tries)
    table.insert(values, 3, 'retry_at_ms')
    table.insert(values, 4, string.format('%.0f', retry.at_ms))
  end
  if retry and not retry.is_due then
    redis.call('HSET', keys.journaled, field, table.concat(values, ' '))
    redis.call('ZADD', keys.deferred, string.format('%.0f', retry.at_ms), field)
  else
    redis.call('HSET', keys.journaled, field, redis.call('XADD', keys.journal, '*', unpack(values)))
  end
  return true
end

-- Removes a record from the stream, whatever it contains. Returns its fields and values; nil if there is no such record.
local function remove_journal_record(keys, id)
  local record = redis.call('XRANGE', keys.journal, id, id)[1]
  if not record then
    return nil
  end
  redis.call('XDEL', keys.journal, id)
  local change = read_journal_change(record[2])
  -- A repeated claim is stored as a deadline.
  for _, kind in ipairs(change and { change.kind, 'deadline' } or {}) do
    local field = change.member .. ' ' .. kind
    if redis.call('HGET', keys.journaled, field) == id then
      redis.call('HDEL', keys.journaled, field)
    end
  end
  return record[2]
end

-- Removes a deferred record. Nothing changes if it is not deferred any more.
local function remove_deferred_record(keys, field)
  if redis.call('ZREM', keys.deferred, field) == 1 then
    redis.call('HDEL', keys.journaled, field)
  end
end
