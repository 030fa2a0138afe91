-- Reads and writes the fields of a hash. A hash is the name of a key, or what `hashes.open` has read. Many parts of a tick use
-- the same two hashes: they are read once, and what has changed is written once.

local hashes = {}

-- Reads the fields with these names, or all. `hashes.save` writes what has changed since.
function hashes.open(key, names)
  local hash = { key = key, values = {}, changed = {}, is_changed = {} }
  if names then
    for i, value in ipairs(redis.call('HMGET', key, unpack(names))) do
      hash.values[names[i]] = value or nil
    end
    return hash
  end
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    hash.values[fields[i]] = fields[i + 1]
  end
  return hash
end

function hashes.get(hash, field)
  if type(hash) == 'string' then
    return redis.call('HGET', hash, field)
  end
  return hash.values[field] or false
end

-- Returns the values of several fields, one after the other.
function hashes.get_many(hash, ...)
  if type(hash) == 'string' then
    return unpack(redis.call('HMGET', hash, ...))
  end
  local values = { ... }
  for i = 1, #values do
    values[i] = hash.values[values[i]] or false
  end
  return unpack(values)
end

local function change_hash_field(hash, field, value)
  hash.values[field] = value
  if not hash.is_changed[field] then
    hash.is_changed[field] = true
    hash.changed[#hash.changed + 1] = field
  end
end

-- Takes fields and values, one after the other.
function hashes.set(hash, ...)
  if type(hash) == 'string' then
    redis.call('HSET', hash, ...)
    return
  end
  local fields = { ... }
  for i = 1, #fields, 2 do
    local value = fields[i + 1]
    -- As Redis writes a number.
    change_hash_field(hash, fields[i], type(value) == 'number' and string.format('%.17g', value) or value)
  end
end

function hashes.add(hash, field, number)
  if type(hash) == 'string' then
    redis.call('HINCRBY', hash, field, number)
  else
    change_hash_field(hash, field, string.format('%.0f', tonumber(hash.values[field] or 0) + number))
  end
end

function hashes.remove(hash, ...)
  if type(hash) == 'string' then
    redis.call('HDEL', hash, ...)
    return
  end
  for _, field in ipairs({ ... }) do
    if hash.values[field] then
      change_hash_field(hash, field, nil)
    end
  end
end

function hashes.save(hash)
  local set, removed = {}, {}
  for _, field in ipairs(hash.changed) do
    local value = hash.values[field]
    if value then
      set[#set + 1] = field
      set[#set + 1] = value
    else
      removed[#removed + 1] = field
    end
  end
  if #set > 0 then
    redis.call('HSET', hash.key, unpack(set))
  end
  if #removed > 0 then
    redis.call('HDEL', hash.key, unpack(removed))
  end
end
