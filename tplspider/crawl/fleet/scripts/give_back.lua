-- Entries that a worker cannot finish, for others at once; it counts for nothing against them.
-- KEYS queue; ARGV group, worker, then ids. Gives how many there were.
local given = 0
for i = 3, #ARGV do
  local found = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)[1]
  if found and found[2] == ARGV[2] then
    redis.call('XCLAIM', KEYS[1], ARGV[1], 'returned', 0, ARGV[i],
      'RETRYCOUNT', found[4] - 1, 'JUSTID')
    given = given + 1
  end
end
return given
