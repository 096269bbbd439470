-- Settles a job once, first wins, and takes its entry out of the stream in every case.
-- KEYS: 1 stream, 2 dead-letter stream, 3 job hash, 4 answer list, 5 service samples of the class, 6 unsettled jobs,
--       7 classes (3 to 7 are not touched where ARGV 4 is empty)
-- ARGV: 1 group, 2 entry id, 3 reason to dead-letter the entry (empty: none), 4 outcome (empty: the job has no name),
--       5 who settles, 6 status, 7 finished_at, 8 attempts, 9 tokens out, 10 last answer chunk, 11 retention in s,
--       12 most entries kept as dead letters, 13 job class, 14 service sample (empty: none), 15 most samples kept,
--       16 most classes that leave samples
-- Returns: 1 if this settler was the first, else 0. The same settler asking again is still the first: its reply was lost.
if ARGV[3] ~= '' then
  local entry = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1]
  if entry then
    -- What Lua cannot pass on as arguments is not kept: the entry must leave all the same.
    local fields = #entry[2] <= 1000 and entry[2] or {}
    fields[#fields + 1] = 'reason'
    fields[#fields + 1] = ARGV[3]
    redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[12], '*', 'entry_id', ARGV[2], unpack(fields))
  end
end

-- A class that clients made up must not fill the memory.
local function is_sampled()
  return redis.call('SISMEMBER', KEYS[7], ARGV[13]) == 1 or redis.call('SCARD', KEYS[7]) < tonumber(ARGV[16])
end

local function count_as_settled()
  if (tonumber(redis.call('HGET', KEYS[6], ARGV[13])) or 0) > 0 then
    redis.call('HINCRBY', KEYS[6], ARGV[13], -1)
  end
  if ARGV[14] ~= '' and is_sampled() then
    redis.call('SADD', KEYS[7], ARGV[13])
    redis.call('LPUSH', KEYS[5], ARGV[14])
    redis.call('LTRIM', KEYS[5], 0, ARGV[15] - 1)
  end
end

local first = 1
if ARGV[4] ~= '' then
  local settled_by = redis.call('HGET', KEYS[3], 'settled_by')
  if not settled_by and redis.call('HEXISTS', KEYS[3], 'outcome') == 0 then
    redis.call('HSET', KEYS[3], 'outcome', ARGV[4], 'settled_by', ARGV[5], 'status', ARGV[6],
      'finished_at', ARGV[7], 'attempts', ARGV[8], 'tokens_out', ARGV[9])
    redis.call('EXPIRE', KEYS[3], ARGV[11])
    redis.call('RPUSH', KEYS[4], ARGV[10])
    redis.call('EXPIRE', KEYS[4], ARGV[11])
    count_as_settled()
  elseif settled_by ~= ARGV[5] then
    first = 0
  end
end
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
return first
