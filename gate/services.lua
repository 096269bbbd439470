-- What the workers left about finished services, for estimates: newest first, as it was pushed.
--
-- KEYS  1 classes, 2 unsettled, 3 waits
-- ARGV  prefix of the keys of service samples, most samples of a class, most classes
-- Returns the time in unix s, the waits, then per class its name and its samples. A class is known by its samples, or by
--       a job admitted and not settled.

local classes, known = {}, {}
for _, key in ipairs({ redis.call('SMEMBERS', KEYS[1]), redis.call('HKEYS', KEYS[2]) }) do
  for _, name in ipairs(key) do
    if not known[name] and #classes < tonumber(ARGV[3]) then
      known[name] = true
      classes[#classes + 1] = name
    end
  end
end

local clock = redis.call('TIME')
local last = tonumber(ARGV[2]) - 1
local reply = { clock[1] .. string.format('.%06d', clock[2]), redis.call('LRANGE', KEYS[3], 0, last) }
for _, name in ipairs(classes) do
  reply[#reply + 1] = name
  reply[#reply + 1] = redis.call('LRANGE', ARGV[1] .. name, 0, last)
end
return reply
