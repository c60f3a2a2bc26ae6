-- Failed key pages into the queue again; each leaves the hash in the same step.
-- KEYS queue, those that are being put back, failed; ARGV for each: name, its record as it was
--      read, its fields and values as one JSON array ('' if it is out of form: it stays failed)
-- Gives how many were put.
local put = 0
for i = 1, #ARGV, 3 do
  local name, record, fields = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if redis.call('HGET', KEYS[2], name) == record then
    -- Adding comes first: where memory has run out Redis refuses it, and nothing has happened.
    if fields == '' then
      redis.call('HSET', KEYS[3], name, record)
    else
      redis.call('XADD', KEYS[1], '*', unpack(cjson.decode(fields)))
      put = put + 1
    end
    redis.call('HDEL', KEYS[2], name)
  end
end
return put
