-- Takes a job back whose enqueueing the gate never heard confirmed, unless a worker has it already.
--
-- KEYS  1 stream, 2 job hash, 3 unsettled
-- ARGV  group, seconds for which the mark stays that keeps a call still on its way from enqueueing the job
-- Returns the job's created_at where it stays admitted, and false where it is not and will not be in the stream.

local entry, created, job_class = unpack(redis.call('HMGET', KEYS[2], 'entry_id', 'created_at', 'job_class'))
if entry then
  local waits = #redis.call('XRANGE', KEYS[1], entry, entry) == 1
  local delivered = waits and #redis.call('XPENDING', KEYS[1], ARGV[1], entry, entry, 1) == 1
  if delivered or not waits then
    return created
  end
  redis.call('XDEL', KEYS[1], entry)
  if (tonumber(redis.call('HGET', KEYS[3], job_class)) or 0) > 0 then
    redis.call('HINCRBY', KEYS[3], job_class, -1)
  end
end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], 'status', 'withdrawn')
redis.call('EXPIRE', KEYS[2], ARGV[2])
return false
