-- Enqueues one job as admit.lua does, with no decision. All time is the server's.
--
-- KEYS  1 stream, 2 unsettled, 3 job hash
-- ARGV  group, entry version field, entry version, job field, job retention s, unix s after which nothing may be
--       enqueued, job JSON without its last brace, request id, job class, deadline s
-- Returns the job's created_at in unix s; false where the call came too late, or the job was taken back meanwhile.

local stream, unsettled, key = unpack(KEYS)
local group, version_field, version, job_field, retention_s, latest_at, job, request_id, job_class, deadline_s =
  unpack(ARGV)

local clock = redis.call('TIME')
local now_s = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
if now_s > tonumber(latest_at) or redis.call('EXISTS', key) == 1 then
  return false
end

-- There already, as a rule; a restarted, emptied server has none.
redis.pcall('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
-- An empty stream has nothing unsettled, whatever an entry that left it without a settlement left behind.
if redis.call('XLEN', stream) == 0 then
  redis.call('DEL', unsettled)
end

local created, deadline = string.format('%.6f', now_s), string.format('%.6f', now_s + tonumber(deadline_s))
local entry = redis.call('XADD', stream, '*', version_field, version,
  job_field, job .. ',"created_at":' .. created .. ',"deadline_at":' .. deadline .. '}')
redis.call('HSET', key, 'status', 'queued', 'request_id', request_id, 'job_class', job_class,
  'created_at', created, 'deadline_at', deadline, 'entry_id', entry)
redis.call('EXPIRE', key, retention_s)
redis.call('HINCRBY', unsettled, job_class, 1)
return created
