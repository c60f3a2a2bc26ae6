-- Whether there is nothing left in a queue: no entry that waits, and none in work.
-- KEYS queue; ARGV group
if redis.call('XLEN', KEYS[1]) == 0 then return 1 end
-- Somebody may have acknowledged entries by hand, and left them there.
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local about = {}
  for i = 1, #group, 2 do about[group[i]] = group[i + 1] end
  if about['name'] == ARGV[1] and about['pending'] == 0 then
    local function parts(id)
      local ms, number = id:match('(%d+)-(%d+)')
      return tonumber(ms), tonumber(number)
    end
    local ms, number = parts(last[1])
    local read_ms, read_number = parts(about['last-delivered-id'])
    return (read_ms > ms or (read_ms == ms and read_number >= number)) and 1 or 0
  end
end
return 0
