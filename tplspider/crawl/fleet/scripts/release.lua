-- A host is not asked any more; the next one who does keeps to its pace.
-- KEYS lease, pace; ARGV worker, ms since the last request was really sent (-1: none was)
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
if ARGV[2] ~= '-1' and redis.call('EXISTS', KEYS[2]) == 1 then
  local time = redis.call('TIME')
  local sent = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
  if sent > tonumber(redis.call('HGET', KEYS[2], 'last') or 0) then
    redis.call('HSET', KEYS[2], 'last', sent)
  end
end
return 1
