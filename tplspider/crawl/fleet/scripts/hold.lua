-- A sign of life for the leases that a worker has.
-- KEYS leases; ARGV worker, lease ms. Gives the places in KEYS of those that it has no more.
local lost = {}
for i, lease in ipairs(KEYS) do
  if redis.call('GET', lease) == ARGV[1] then
    redis.call('PEXPIRE', lease, ARGV[2])
  else
    lost[#lost + 1] = i
  end
end
return lost
