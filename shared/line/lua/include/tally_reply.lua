-- The reply of the scripts that hand out the tally of a queue. `line` has the fields of line.lua.
local function describe_tally(config, state, tally, line, now_ms)
  local totals = { 'fast_tracked', 'bypassed', 'promoted', 'claimed', 'completed', 'left', 'evicted', 'expired',
    'no_shows', 'absences', 'overlong_waits', 'dismissed', 'returned' }
  local counts = redis.call('HMGET', state, unpack(totals))
  local fields = { 'entered', string.format('%.0f', line.entered) }
  for i, total in ipairs(totals) do
    fields[#fields + 1] = total
    fields[#fields + 1] = counts[i] or '0'
  end
  local generation, salt = unpack(redis.call('HMGET', config, 'generation', 'salt'))
  return { 'tally', now_ms, line.epoch, tonumber(generation), salt, line.v, fields, redis.call('HGETALL', tally) }
end
