-- How a queue stands, at one moment; nothing is written.
-- KEYS queue, results, failed, retrying, facts, rate, workers, waiting; ARGV group
-- Gives {unix time, entries, results, bytes of results or 0, failed, facts, rate, workers,
--        hosts waited for, {name, pending, ms of silence} of each consumer}
local memory = redis.pcall('MEMORY', 'USAGE', KEYS[2])
local consumers = {}
local found = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if not found.err then -- no queue, or nobody has ever looked into it
  for i, consumer in ipairs(found) do
    consumers[i] = {consumer[2], consumer[4], consumer[6]}
  end
end
return {
  redis.call('TIME')[1],
  redis.call('XLEN', KEYS[1]),
  redis.call('XLEN', KEYS[2]),
  type(memory) == 'number' and memory or 0,
  redis.call('HLEN', KEYS[3]) + redis.call('HLEN', KEYS[4]),
  redis.call('HGETALL', KEYS[5]),
  redis.call('HGETALL', KEYS[6]),
  redis.call('HGETALL', KEYS[7]),
  redis.call('SCARD', KEYS[8]),
  consumers,
}
