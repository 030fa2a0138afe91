-- Reads fields by name: from a hash, and from the arguments of a script.

-- Reads fields of a hash as numbers. Returns a table by field name. A field that the hash lacks is nil.
local function read_numbers(key, names)
  local values = redis.call('HMGET', key, unpack(names))
  local numbers = {}
  for i, name in ipairs(names) do
    numbers[name] = tonumber(values[i])
  end
  return numbers
end

-- Reads a configuration that the caller sent as `field value field value …`, beginning with ARGV[first]. Returns a
-- table by field name, and a list of fields and values for HSET.
local function read_configuration(first)
  local by_name, list = {}, {}
  for i = first, #ARGV, 2 do
    local name, value = ARGV[i], ARGV[i + 1]
    by_name[name] = value
    list[#list + 1] = name
    list[#list + 1] = value
  end
  return by_name, list
end
