-- Takes a worker off the books. A consumer with entries pending stays, since deleting it would delete them from the pending list.
-- KEYS: 1 stream, 2 heartbeats, 3 workers
-- ARGV: 1 group, 2 worker id
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('HDEL', KEYS[3], ARGV[2])
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) == 0 then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
return 1
