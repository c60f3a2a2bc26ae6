-- Answers from the stream of results, and what tells whether any are missing before them.
-- KEYS results, facts; ARGV id after which to begin, most answers, most bytes of them
-- Gives {when the first answer ever came, answers ever added (-1: Redis is too old to tell),
--        answers there, id of the first of them, highest id that was deleted one by one,
--        last id ever, {id, fields} of each}
local began = redis.call('HGET', KEYS[2], 'began') or ''
if redis.call('EXISTS', KEYS[1]) == 0 then return {began, 0, 0, '', '0-0', '0-0', {}} end
local about, stream = {}, redis.call('XINFO', 'STREAM', KEYS[1])
for i = 1, #stream, 2 do about[stream[i]] = stream[i + 1] end
local first = about['first-entry']
local answers, bytes = {}, 0
for _, answer in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])) do
  answers[#answers + 1] = answer
  for _, part in ipairs(answer[2]) do bytes = bytes + #part end
  if bytes > tonumber(ARGV[3]) then break end
end
return {
  began, about['entries-added'] or -1, about['length'], first and first[1] or '',
  about['max-deleted-entry-id'] or '0-0', about['last-generated-id'], answers,
}
