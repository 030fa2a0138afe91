-- Makes the globals of the scripts from the libraries of Lua and the natives of the server. A script can change none of
-- them, and sees no global that Redis does not have.
local natives, globals = ...

local function read_only(readable)
  return setmetatable({}, {
    __index = readable,
    __newindex = function()
      error('Attempt to modify a readonly table', 2)
    end,
    __metatable = false,
  })
end

-- Of each library, what the answer of a script may depend on: nothing random, and nothing of the machine.
local known = {
  string = { 'byte', 'char', 'find', 'format', 'gmatch', 'gsub', 'len', 'lower', 'match', 'rep', 'reverse', 'sub', 'upper' },
  table = { 'concat', 'insert', 'maxn', 'remove', 'sort' },
  math = { 'abs', 'ceil', 'exp', 'floor', 'fmod', 'frexp', 'huge', 'ldexp', 'log', 'log10', 'max', 'min', 'modf', 'pi', 'pow', 'sqrt' },
}
local functions = { 'assert', 'error', 'getmetatable', 'ipairs', 'next', 'pairs', 'pcall', 'rawequal', 'rawget', 'select',
  'setmetatable', 'tonumber', 'tostring', 'type', 'unpack', 'xpcall' }

for _, name in ipairs(functions) do
  globals[name] = _G[name]
end
for name, fields in pairs(known) do
  local library = {}
  for _, field in ipairs(fields) do
    library[field] = _G[name][field]
  end
  globals[name] = read_only(library)
end
for name, library in pairs(natives) do
  globals[name] = read_only(library)
end
-- The methods of texts are those of the library.
getmetatable('').__metatable = false
setmetatable(globals, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
})
return read_only(globals)
