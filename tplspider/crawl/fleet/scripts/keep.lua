-- A sign of life for all that a worker has in work. What another one has taken over is its own.
-- KEYS queue, workers; ARGV group, worker, its beat, then ids
-- Gives the ids that are not this worker's any more.
local lost = {}
for i = 4, #ARGV do
  local found = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)[1]
  if found and found[2] == ARGV[2] then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')
  else
    lost[#lost + 1] = ARGV[i]
  end
end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
-- As in take: a worker that has nothing is alive, too.
redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'STREAMS', KEYS[1], '18446744073709551615-0')
return lost
