-- A host is not asked any more; the next one who does keeps to its pace.
-- KEYS lease, pace
-- ARGV worker, ms since the last request was really sent (-1: none was), delay ms as known by now
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
if ARGV[2] ~= '-1' then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local sent, delay = now - tonumber(ARGV[2]), tonumber(ARGV[3])
  local last = tonumber(redis.call('HGET', KEYS[2], 'last') or 0)
  delay = math.max(delay, tonumber(redis.call('HGET', KEYS[2], 'delay') or 0))
  redis.call('HSET', KEYS[2], 'last', math.max(sent, last), 'delay', delay)
  redis.call('PEXPIRE', KEYS[2], math.max(60000, 3 * delay))
end
return 1
