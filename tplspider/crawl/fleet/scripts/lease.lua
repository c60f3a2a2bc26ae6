-- The lease of a host: who has it may ask the host, and nobody else.
-- KEYS lease, pace, wish; ARGV worker, lease ms, wish ms (0 for none)
-- Gives {1, delay ms that the last holder kept to} or {0, ms until it may be free}.
local holder = redis.call('GET', KEYS[1])
local wish = redis.call('GET', KEYS[3])
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
elseif holder or (wish and wish ~= ARGV[1]) then
  -- Who waits with another lease in hand comes before those who would begin.
  if ARGV[3] ~= '0' and (not wish or wish == ARGV[1]) then
    redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[3])
  end
  return {0, redis.call('PTTL', holder and KEYS[1] or KEYS[3])}
else
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  redis.call('DEL', KEYS[3])
end
return {1, tonumber(redis.call('HGET', KEYS[2], 'delay') or 0)}
