-- What all workers of a queue search with: the first one says it.
-- KEYS queue, facts; ARGV group, options, claim ms
-- Gives the options in force. A queue that has nothing in it, and no worker, may change them.
local known = redis.call('HGET', KEYS[2], 'options')
if known == ARGV[2] then return known end
if known then
  if redis.call('XLEN', KEYS[1]) > 0 then return known end
  for _, found in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
    local name, quiet = found[2], found[6]
    if name ~= 'returned' and name ~= 'waiting' and quiet < tonumber(ARGV[3]) then
      return known
    end
  end
end
redis.call('HSET', KEYS[2], 'options', ARGV[2])
return ARGV[2]
