-- An entry whose host another worker asks, or that has its share of places: it waits for the host.
-- KEYS queue, hosts that are waited for, entries that wait for this host
-- ARGV group, worker, id, host. Gives 1, or 0 if it is not this worker's any more.
local kind = redis.call('TYPE', KEYS[3]).ok
if kind ~= 'list' and kind ~= 'none' then
  return redis.error_reply('WRONGTYPE ' .. KEYS[3] .. ' is a ' .. kind)
end
local found = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)[1]
if not found or found[2] ~= ARGV[2] then return 0 end
redis.call('XCLAIM', KEYS[1], ARGV[1], 'waiting', 0, ARGV[3], 'RETRYCOUNT', found[4] - 1, 'JUSTID')
redis.call('RPUSH', KEYS[3], ARGV[3])
redis.call('SADD', KEYS[2], ARGV[4])
return 1
