-- Counts refusals of clients within their retry windows. A client refused again before it was told to come back keeps
-- its count and, from the limit on, is told a longer time, which its window then lasts too.
--
-- KEYS  1 refused: client -> count, 2 refused until: client -> end of its window in ms
-- ARGV  most clients watched at once, refusals that make the hard answer, then per refusal: client, window ms, window of
--       the hard answer ms
-- Returns per refusal the count within the window, this one included; 0 where the client cannot be watched.

local counts, untils = KEYS[1], KEYS[2]
local most, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local FORGOTTEN_AT_ONCE = 500

local clock = redis.call('TIME')
local now_ms = math.floor(tonumber(clock[1]) * 1000 + tonumber(clock[2]) / 1000)

local function forget(clients)
  if #clients > 0 then
    redis.call('HDEL', counts, unpack(clients))
    redis.call('ZREM', untils, unpack(clients))
  end
end
forget(redis.call('ZRANGEBYSCORE', untils, '-inf', now_ms, 'LIMIT', 0, FORGOTTEN_AT_ONCE))

local function count_of(client, window_ms, hard_window_ms)
  local until_ms = tonumber(redis.call('ZSCORE', untils, client) or 0)
  if until_ms <= now_ms then
    forget({ client })
    if redis.call('ZCARD', untils) >= most then
      return 0
    end
  end
  local count = redis.call('HINCRBY', counts, client, 1)
  -- The window is that of the first refusal; the hard answer begins a new one.
  if count == 1 then
    redis.call('ZADD', untils, now_ms + window_ms, client)
  elseif count >= limit then
    redis.call('ZADD', untils, now_ms + hard_window_ms, client)
  end
  return count
end

local reply = {}
for place = 3, #ARGV, 3 do
  reply[#reply + 1] = count_of(ARGV[place], tonumber(ARGV[place + 1]), tonumber(ARGV[place + 2]))
end
return reply
