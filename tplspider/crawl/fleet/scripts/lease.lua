-- The lease of a host: who has it may ask the host, and nobody else.
-- KEYS lease, pace, wish; ARGV worker, lease ms, wish ms (0 for none)
-- Gives 1 for whoever has it now, else 0.
local holder = redis.call('GET', KEYS[1])
local wish = redis.call('GET', KEYS[3])
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
elseif holder or (wish and wish ~= ARGV[1]) then
  -- Who waits with another lease in hand comes before those who would begin.
  if ARGV[3] ~= '0' and (not wish or wish == ARGV[1]) then
    redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[3])
  end
  return 0
else
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  redis.call('DEL', KEYS[3])
end
return 1
