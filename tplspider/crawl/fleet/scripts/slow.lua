-- A host wants more time between two requests: whoever has it next is to keep to that, too.
-- KEYS lease, pace; ARGV worker, delay ms
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end -- nothing was sent yet
local delay = tonumber(ARGV[2])
if delay > tonumber(redis.call('HGET', KEYS[2], 'delay') or 0) then
  redis.call('PEXPIRE', KEYS[2], math.max(60000, 3 * delay)) -- passes where memory has run out
  redis.call('HSET', KEYS[2], 'delay', delay)
end
return 1
