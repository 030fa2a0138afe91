-- Reads the server's clock into server_us, in Unix microseconds. Only a test sets given_us, and then that is the time.
local server_us = tonumber(given_us)
if not server_us then
  local time = redis.call('TIME')
  server_us = time[1] * 1000000 + time[2]
end
