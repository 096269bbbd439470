-- Takes over pending entries that nobody works on: a dead worker's, and this worker's own from a life or a reply it lost.
-- One step, so that two workers never take the same entry and a heartbeat cannot come between the look and the claim.
-- KEYS: 1 stream, 2 heartbeats
-- ARGV: 1 group, 2 this worker, 3 how many, 4 least idle ms of a dead worker's entry, 5 ms a heartbeat keeps a worker live,
--       6.. ids of the entries this worker runs
-- Returns: {entry id, {field, value, ...}, delivery count} for each.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local wanted, live_ms = tonumber(ARGV[3]), tonumber(ARGV[5])
local running, claimed = {}, {}
for index = 6, #ARGV do
  running[ARGV[index]] = true
end

local function is_dead(worker)
  local beat_ms = redis.call('ZSCORE', KEYS[2], worker)
  return not beat_ms or now_ms - beat_ms > live_ms
end

local function claim(pending)
  -- An entry that was deleted while pending comes back as nothing, and leaves the pending list by this.
  local entry = redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, pending[1])[1]
  if entry then
    claimed[#claimed + 1] = {entry[1], entry[2], pending[4] + 1}
  end
end

for _, pending in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 10000, ARGV[2])) do
  if #claimed < wanted and not running[pending[1]] then
    claim(pending)
  end
end
for _, pending in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], 'IDLE', ARGV[4], '-', '+', 10000)) do
  if #claimed < wanted and pending[2] ~= ARGV[2] and is_dead(pending[2]) then
    claim(pending)
  end
end
return claimed
