-- Records that a worker begins an entry, before the model is asked. A delivery whose reply was cut off began nothing.
-- KEYS: 1 begun (hash entry id -> "<times begun>:<who began last>")
-- ARGV: 1 entry id, 2 who begins: one name a delivery, the same when it asks again because the reply was lost
-- Returns: how often the entry was begun, this time included.
local times, last = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '0:', '^(%d+):(.*)$')
if last == ARGV[2] then
  return tonumber(times)
end
redis.call('HSET', KEYS[1], ARGV[1], (times + 1) .. ':' .. ARGV[2])
return times + 1
