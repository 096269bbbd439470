-- Settles a job once, first wins, and takes its entry out of the stream in every case.
-- KEYS: 1 stream, 2 dead-letter stream, 3 job hash, 4 answer list, 5 service samples of the class, 6 unsettled jobs,
--       7 classes, 8 begun (3 to 7 are not touched where ARGV 4 is empty)
-- ARGV: 1 group, 2 entry id, 3 reason to dead-letter the entry (empty: none), 4 outcome (empty: the job has no name),
--       5 who settles, 6 status, 7 finished_at, 8 attempts, 9 tokens out, 10 last answer chunk, 11 retention in s,
--       12 most entries kept as dead letters, 13 job class, 14 service sample (empty: none), 15 most samples kept,
--       16 most classes that leave samples, 17 most bytes kept of a dead letter's fields
-- Returns: 1 if this settler was the first, else 0. The same settler asking again is still the first: its reply was lost.

-- What Lua can safely pass on as arguments.
local MOST_KEPT = 1000

-- An entry's names and values up to so many bytes together, and whether that is all: a dead letter is kept to be looked
-- at, and what made it one may be its size.
local function cut_to(fields, most_bytes)
  local kept, left = {}, most_bytes
  for index = 1, #fields, 2 do
    if left <= 0 or index > MOST_KEPT then
      return kept, 'no'
    end
    local name, value = fields[index], fields[index + 1]
    kept[index], kept[index + 1] = string.sub(name, 1, left), string.sub(value, 1, math.max(0, left - #name))
    left = left - #name - #value
  end
  return kept, left >= 0 and 'yes' or 'no'
end

-- What is said of the letter comes last, so that no field of the entry's can pass for it.
local function set_aside(fields)
  local kept, whole = cut_to(fields, tonumber(ARGV[17]))
  for _, said in ipairs({'entry_id', ARGV[2], 'whole', whole, 'reason', ARGV[3]}) do
    kept[#kept + 1] = said
  end
  redis.call('XADD', KEYS[2], 'MAXLEN', ARGV[12], '*', unpack(kept))
end

if ARGV[3] ~= '' then
  local entry = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1]
  if entry then
    set_aside(entry[2])
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
redis.call('HDEL', KEYS[8], ARGV[2])
return first
