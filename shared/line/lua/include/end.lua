-- Stores and reads ends. The hash `ended` has an end as `epoch v visit step step_ms how at_ms`; end.rs reads it, too.

-- Stores an end that the backup lacks. The caller has removed the entry from its sorted set.
local function store_end(keys, id, visit_end)
  redis.call('HSET', keys.ended, id, string.format('%.0f %.0f %.0f %.0f %.0f %s %.0f', visit_end.epoch, visit_end.v,
    visit_end.visit, visit_end.step, visit_end.step_ms, visit_end.how, visit_end.at_ms))
  redis.call('ZREM', keys.settled, id)
  redis.call('HDEL', keys.visits, id)
end

-- Reads what `ended` stores. Only a turn or a session that ran out is over in the sense of domain/fact.rs: every other
-- end is a step of its own.
local function parse_end(text)
  local epoch, v, visit, step, step_ms, how, at_ms =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+)$')
  return {
    state = 'ended',
    visit = tonumber(visit),
    step = tonumber(step),
    step_ms = tonumber(step_ms),
    is_over = how == 'no-show' or how == 'expired' or how == 'absence' or how == 'dismissed'
      or how == 'overlong-wait',
    epoch = tonumber(epoch),
    v = tonumber(v),
    how = how,
    at_ms = tonumber(at_ms),
  }
end
