-- The jobs not yet delivered, oldest first, as they were enqueued.
--
-- KEYS  1 stream
-- ARGV  group, job field, most jobs
-- Returns the time in unix s, then the text of each job.

local last_delivered = '0-0'
for _, fields in ipairs(redis.pcall('XINFO', 'GROUPS', KEYS[1])) do
  local info = {}
  for i = 1, #fields, 2 do
    info[fields[i]] = fields[i + 1]
  end
  if info['name'] == ARGV[1] then
    last_delivered = info['last-delivered-id']
  end
end

local clock = redis.call('TIME')
local reply = { clock[1] .. string.format('.%06d', clock[2]) }
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. last_delivered, '+', 'COUNT', ARGV[3])) do
  local fields = entry[2]
  for i = 1, #fields, 2 do
    if fields[i] == ARGV[2] then
      reply[#reply + 1] = fields[i + 1]
    end
  end
end
return reply
