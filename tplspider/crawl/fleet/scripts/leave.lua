-- A worker ends. If it still has entries, others find them when it has been quiet for long enough.
-- KEYS queue, workers; ARGV group, worker
redis.call('HDEL', KEYS[2], ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end
return redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
