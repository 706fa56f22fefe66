-- What ksc's Lua readers make of bytes, in the words of bridge.py.
--
--   LUA_PATH="RUNTIME/?.lua;FOLDER/?.lua" lua dump.lua TABLE
require("kaitaistruct")
local stringstream = require("string_stream")

local rows, classes, row_of = {}, {}, {}
for line in io.lines(arg[1]) do
  local row = {}
  for each in line:gmatch("%S+") do row[#row + 1] = each end
  local class
  for each in row[1]:gmatch("[^.]+") do
    if not class then
      require(each)
      class = _G
    else
      class = class[each]
    end
  end
  rows[#rows + 1], classes[#classes + 1], row_of[class] = row, class, #rows + 1
end

local function hex(bytes)
  return (bytes:gsub(".", function(each) return string.format("%02x", each:byte()) end))
end

local function dump(value, kind)
  local is = type(value)
  if is == "nil" then return "null" end
  if is == "boolean" then return value and "1" or "0" end
  if is == "string" then return '"' .. hex(value) .. '"' end
  if is == "number" then
    if kind == "f" then return '{"f":"' .. hex(string.pack(">d", value)) .. '"}' end
    return string.format("%d", value)
  end
  local number = row_of[getmetatable(value)]
  local found = {}
  if number then
    for i = 2, #rows[number] do
      local each = rows[number][i]
      found[#found + 1] = dump(value[each:sub(3)], each:sub(1, 1))
    end
    return '{"' .. number - 1 .. '":[' .. table.concat(found, ",") .. "]}"
  end
  if kind == "n" and value.label then return tostring(value.value) end
  for i, each in ipairs(value) do found[i] = dump(each, kind) end
  return "[" .. table.concat(found, ",") .. "]"
end

io.stdout:setvbuf("line")
print("kaitai_struct_lua_runtime, " .. _VERSION)
for line in io.lines() do
  local number, version, data = line:match("^(%d+) (%S+) (%x*)$")
  local bytes = data:gsub("..", function(each) return string.char(tonumber(each, 16)) end)
  local stream = KaitaiStream(stringstream(bytes))
  local class = classes[tonumber(number) + 1]
  local ok, value = pcall(function()
    local read
    if version == "-" then read = class(stream) else read = class(tonumber(version), stream) end
    return dump(read)
  end)
  if ok then
    print((stream:is_eof() and "V" or "R") .. value)
  else
    print("E" .. tostring(value):gsub("\n.*", ""))
  end
end
