-- One heartbeat, which also reads Redis' clock.
-- KEYS: 1 heartbeats (sorted set worker -> ms), 2 workers (hash worker -> slots)
-- ARGV: 1 worker id, 2 slots
-- Returns: seconds and microseconds, as TIME does.
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return time
