-- Lines of a list into the queue, and in the same step the mark how far the list has come.
-- KEYS queue, files, facts
-- ARGV version, label of the list, mark before ('' for none), mark after, then for each line:
--      its fields and values as one JSON array
-- Gives the mark that stands now: the one after, or another if lines were put by somebody else.
local version = tonumber(redis.call('HGET', KEYS[3], 'v') or ARGV[1])
if version and version > tonumber(ARGV[1]) then
  return redis.error_reply('VERSION ' .. version)
end
local mark = redis.call('HGET', KEYS[2], ARGV[2]) or ''
if mark ~= ARGV[3] then return mark end
-- The first write: where memory has run out Redis refuses it, and nothing is put.
redis.call('HSET', KEYS[2], ARGV[2], ARGV[4])
for i = 5, #ARGV do
  redis.call('XADD', KEYS[1], '*', unpack(cjson.decode(ARGV[i])))
end
redis.call('HSETNX', KEYS[3], 'v', ARGV[1])
redis.call('HINCRBY', KEYS[3], 'put', #ARGV - 4)
return ARGV[4]
