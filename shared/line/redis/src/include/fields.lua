-- The fields of a configuration, given as ARGV from `first` on: by name, and as a list to write.
local function given_fields(first)
  local by_name, list = {}, {}
  for i = first, #ARGV, 2 do
    by_name[ARGV[i]] = ARGV[i + 1]
    list[#list + 1] = ARGV[i]
    list[#list + 1] = ARGV[i + 1]
  end
  return by_name, list
end
