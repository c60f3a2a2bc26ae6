-- The turn of one request: the holder of a lease may send it when the delay is over.
-- KEYS lease, pace, wish
-- ARGV worker, lease ms, delay ms, whether the delay of the last holder holds if it is longer (0/1)
-- Gives {ms to wait, 0 being now; -1 without the lease, whether another worker wishes for it}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {-1, 0} end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local wish = redis.call('EXISTS', KEYS[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last, delay = tonumber(redis.call('HGET', KEYS[2], 'last') or 0), tonumber(ARGV[3])
if ARGV[4] == '1' then
  delay = math.max(delay, tonumber(redis.call('HGET', KEYS[2], 'delay') or 0))
end
-- The clock was set back: nobody knows how long ago it was, so the delay begins now.
if last > now then
  last = now
  redis.call('HSET', KEYS[2], 'last', last)
end
if last + delay > now then return {last + delay - now, wish} end
redis.call('HSET', KEYS[2], 'last', now, 'delay', delay)
redis.call('PEXPIRE', KEYS[2], math.max(60000, 3 * delay))
return {0, wish}
