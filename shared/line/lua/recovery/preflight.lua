#!lua flags=allow-oom
-- Finds out whether the server gives what the scripts need. It changes no data.
-- allow-oom: this script writes nothing, so it may run at maxmemory.
-- KEYS: config changes
--   config: a key of no queue, for the rights to keys; it is never read or written
--   changes: channel, on which one message is published
-- ARGV: message ...
--   message: what to publish, or empty for nothing
--   ...: the commands to ask the rights for, each as one text whose words KEY and CHANNEL stand for KEYS; the empty text
--     stands for none
-- Output: {'answered', version, time_refusal, tells_rights, refused}
--   version: the name and the version of the server
--   time_refusal: why the server refused TIME, or empty
--   tells_rights: 1 if the server tells what its user may send, else 0
--   refused: list of the commands that the user may not send
local config, changes = KEYS[1], KEYS[2]
local message = ARGV[1]

local names = { KEY = config, CHANNEL = changes }

-- A command has fewer than ten words.
local function may_send(command)
  local words = {}
  for word in string.gmatch(command, '%S+') do
    words[#words + 1] = names[word] or word
  end
  local is_known, may = pcall(redis.acl_check_cmd, unpack(words))
  return is_known and may
end

local time = redis.pcall('TIME')
local tells_rights, refused = 0, {}
if redis.acl_check_cmd then
  tells_rights = 1
  for number = 2, #ARGV do
    if ARGV[number] ~= '' and not may_send(ARGV[number]) then
      refused[#refused + 1] = ARGV[number]
    end
  end
end
if message ~= '' then
  -- If it is refused, the subscription hears nothing, which the caller notices.
  redis.pcall('SPUBLISH', changes, message)
end
local version = (redis.SERVER_NAME or 'redis') .. ' ' .. (redis.SERVER_VERSION or redis.REDIS_VERSION or '')
return { 'answered', version, time.err or '', tells_rights, refused }
