-- The turn of one request: the holder of a lease may send it when the delay is over.
-- KEYS lease, pace, wish; ARGV worker, lease ms, delay ms
-- Gives {ms to wait, 0 being now; -1 without the lease, whether another worker wishes for it}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {-1, 0} end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local wish = redis.call('EXISTS', KEYS[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last, delay = tonumber(redis.call('HGET', KEYS[2], 'last') or 0), tonumber(ARGV[3])
-- A clock that was set back is not waited for.
if last <= now and last + delay > now then return {last + delay - now, wish} end
redis.call('HSET', KEYS[2], 'last', now, 'delay', delay)
redis.call('PEXPIRE', KEYS[2], math.max(60000, 3 * delay))
return {0, wish}
