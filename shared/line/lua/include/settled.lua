-- Deletes ends that the backup has had for longer than `kept_ms`. Until then they stay, because another process may
-- still hold an older record of the entry. One call deletes a bounded number, so that it does not block Redis for long.
local function delete_settled_ends(ended, settled, now_ms, kept_ms)
  local DELETED_MAX = 1000
  local bound = string.format('(%.0f', now_ms - kept_ms)
  local ids = redis.call('ZRANGEBYSCORE', settled, '-inf', bound, 'LIMIT', 0, DELETED_MAX)
  if #ids > 0 then
    redis.call('HDEL', ended, unpack(ids))
    redis.call('ZREMRANGEBYRANK', settled, 0, #ids - 1)
  end
end
