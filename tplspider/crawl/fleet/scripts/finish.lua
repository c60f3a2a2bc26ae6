-- The answer to an entry: acknowledged first, and only who succeeds in that adds rows.
-- KEYS queue, results, failed, facts, rate
-- ARGV group, id, version, attempt, rows, name of the key page, its record if it failed or '',
--      whether it was given up (0/1)
-- Gives 1, or 0 if it was answered before, by this worker or another one.
-- Looked at before anything is written: what fails half-way would be lost.
for i, kind in ipairs({'stream', 'hash', 'hash', 'hash'}) do
  local found = redis.call('TYPE', KEYS[i + 1]).ok
  if found ~= kind and found ~= 'none' then
    return redis.error_reply('WRONGTYPE ' .. KEYS[i + 1] .. ' is a ' .. found)
  end
end
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
redis.call('XDEL', KEYS[1], ARGV[2])
redis.call('XADD', KEYS[2], '*', 'v', ARGV[3], 'entry', ARGV[2], 'name', ARGV[6],
  'attempt', ARGV[4], 'rows', ARGV[5])
if ARGV[7] == '' then
  redis.call('HDEL', KEYS[3], ARGV[6])
else
  redis.call('HSET', KEYS[3], ARGV[6], ARGV[7])
end
local time = redis.call('TIME')
redis.call('HSETNX', KEYS[4], 'began', time[1] .. '.' .. time[2]) -- tells these results from others
-- Figures for people: where somebody has written something else, they are not kept.
redis.pcall('HINCRBY', KEYS[4], 'done', 1)
redis.pcall('HINCRBY', KEYS[4], 'given_up', ARGV[8])
local minute = math.floor(tonumber(time[1]) / 60)
redis.pcall('HINCRBY', KEYS[5], minute, 1)
redis.call('EXPIRE', KEYS[5], 3600)
for _, kept in ipairs(redis.call('HKEYS', KEYS[5])) do
  if (tonumber(kept) or 0) < minute - 10 then redis.call('HDEL', KEYS[5], kept) end
end
return 1
