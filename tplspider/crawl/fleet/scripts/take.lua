-- Entries for a worker: what a dead one had, what a leaving one gave back, then new ones.
-- KEYS queue, workers
-- ARGV group, worker, its beat, free places, claim ms, may have a suspect (0/1), tries,
--      whether it has nothing else (0/1)
-- Gives {id, fields, deaths} of each: how many workers died of it, or beside it.
local queue, group, me = KEYS[1], ARGV[1], ARGV[2]
local free, idle, suspects = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local tries, is_alone = tonumber(ARGV[7]), ARGV[8] == '1'
-- The first write: where memory has run out Redis refuses it, and nothing is taken.
redis.call('HSET', KEYS[2], me, ARGV[3])
-- Redis before 7.2 hears nothing of a worker that gets nothing: here it asks for what never was.
redis.call('XREADGROUP', 'GROUP', group, me, 'STREAMS', queue, '18446744073709551615-0')
local taken = {}

local function claim(from, least_idle)
  local pending = redis.call('XPENDING', queue, group, 'IDLE', least_idle, '-', '+', 64, from)
  for _, found in ipairs(pending) do
    if #taken >= free then return end
    local id, count = found[1], found[4]
    -- What was given back, or waits, has none for that. Read by me in an answer that was lost:
    -- nobody died either.
    local deaths = count
    if from == me then deaths = count - 1 end
    -- The last try is made alone, so that nobody dies of another page; but not put off for ever.
    local is_last = deaths > 0 and deaths == tries - 1
    local may_begin = not is_last or (is_alone and #taken == 0) or found[3] > 10 * idle
    if deaths == 0 or (suspects > 0 and may_begin) then
      local entry = redis.call('XCLAIM', queue, group, me, 0, id, 'RETRYCOUNT', deaths + 1)[1]
      if entry then
        taken[#taken + 1] = {id, entry[2], deaths}
        if deaths > 0 then suspects = suspects - 1 end
        if is_last then free = #taken end
      else
        redis.call('XACK', queue, group, id) -- somebody deleted it from the stream
      end
    end
  end
end

for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', queue, group)) do
  local name, pending, quiet = consumer[2], consumer[4], consumer[6]
  if name == 'returned' then
    claim(name, 0)
  elseif name ~= 'waiting' and pending > 0 then
    claim(name, idle)
  elseif name ~= 'waiting' and name ~= me and quiet > 10 * idle then
    redis.call('XGROUP', 'DELCONSUMER', queue, group, name) -- it has nothing
    redis.call('HDEL', KEYS[2], name)
  end
end
if #taken < free then
  local read = redis.call(
    'XREADGROUP', 'GROUP', group, me, 'COUNT', free - #taken, 'STREAMS', queue, '>')
  if read then
    for _, entry in ipairs(read[1][2]) do
      taken[#taken + 1] = {entry[1], entry[2], 0}
    end
  end
end
-- What waits for a host is found by the host. If it was lost there, it is found here at last.
if #taken == 0 and free > 0 then
  free = 1
  claim('waiting', 10 * idle)
end
return taken
