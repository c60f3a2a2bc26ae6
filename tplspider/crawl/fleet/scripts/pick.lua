-- Entries that have waited for hosts that this worker asks already, or that nobody asks now.
-- KEYS queue, workers, hosts that are waited for
-- ARGV group, worker, its beat, lease ms (as long as claim ms), places, may have a suspect (0/1),
--      what names of leases begin with, what names of wishes begin with, tries,
--      whether it has nothing else (0/1), then hosts of its own
-- Gives {id, fields, deaths, host} of each; the worker has the lease of each host.
local queue, group, me, lease_ms = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[4])
local places, suspects = tonumber(ARGV[5]), tonumber(ARGV[6])
local tries, is_alone = tonumber(ARGV[9]), ARGV[10] == '1'
redis.call('HSET', KEYS[2], me, ARGV[3]) -- refused where memory has run out
local picked = {}

local function has_lease(host)
  local holder = redis.call('GET', ARGV[7] .. host)
  if holder then return holder == me end
  local wish = redis.call('GET', ARGV[8] .. host)
  if wish and wish ~= me then return false end
  redis.call('SET', ARGV[7] .. host, me, 'PX', lease_ms)
  return true
end

local function pick(host)
  local list = KEYS[3] .. ':' .. host
  while true do
    local id = redis.call('LINDEX', list, 0)
    if not id then
      redis.call('SREM', KEYS[3], host)
      return false
    end
    local found = redis.call('XPENDING', queue, group, id, id, 1)[1]
    if found and found[2] == 'waiting' then
      local deaths = found[4]
      if deaths > 0 and suspects == 0 then return false end
      -- The last try is made alone, as in take.lua.
      local is_last = deaths > 0 and deaths == tries - 1
      local may_begin = not is_last or (is_alone and #picked == 0) or found[3] > 10 * lease_ms
      if not may_begin then return false end
      redis.call('LPOP', list)
      local entry = redis.call('XCLAIM', queue, group, me, 0, id, 'RETRYCOUNT', deaths + 1)[1]
      if entry then
        if deaths > 0 then suspects = suspects - 1 end
        picked[#picked + 1] = {id, entry[2], deaths, host}
        if is_last then places = #picked end
        return true
      end
      redis.call('XACK', queue, group, id)
    else
      redis.call('LPOP', list) -- answered meanwhile
    end
  end
end

for i = 11, #ARGV do
  if #picked < places and has_lease(ARGV[i]) then pick(ARGV[i]) end
end
if #picked < places then
  for _, host in ipairs(redis.call('SRANDMEMBER', KEYS[3], 16)) do
    local is_mine = redis.call('GET', ARGV[7] .. host) == me
    if #picked < places and not is_mine and has_lease(host) and not pick(host) then
      redis.call('DEL', ARGV[7] .. host)
    end
  end
end
return picked
