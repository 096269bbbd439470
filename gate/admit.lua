-- Reads the stack's signals and, for each request of a batch in order, decides and enqueues, in one step that no other
-- replica can split. All time is the server's. What is shed writes nothing.
--
-- KEYS  1 stream, 2 workers, 3 heartbeats, 4 utilization, then one job hash per request
-- ARGV  group, entry version field, entry version, job field, job retention s, heartbeat window ms,
--       smoothing time constant s, "1" to save the smoothed utilization, unix s after which nothing may be enqueued,
--       then per request: job JSON without its last brace, request id, job class, deadline s, number of rules and
--       per rule: "1" where it turns the request away, number of conditions and per condition: signal, comparison, limit
-- Returns the time in unix s; then per request "outcome rule signals": outcome 1 enqueued, 0 turned away, -1 too late or
--       withdrawn, and rule the first that holds, from 1, or 0; last the signals after the batch.

local stream, workers, heartbeats, utilization = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local cursor = 0
local function take()
  cursor = cursor + 1
  return ARGV[cursor]
end
local function take_number()
  return tonumber(take())
end

local group, version_field, version, job_field, retention_s = take(), take(), take(), take(), take()
local heartbeat_window_ms, smoothing_s = take_number(), take_number()
local saves_utilization, latest_at = take() == '1', take_number()

local clock = redis.call('TIME')
local now_s = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local now_ms = math.floor(tonumber(clock[1]) * 1000 + tonumber(clock[2]) / 1000)

-- A missing group is made here, so that a restarted, emptied server works again with the next call.
local function pending_and_last_delivered()
  local groups = redis.pcall('XINFO', 'GROUPS', stream)
  for _, fields in ipairs(groups) do
    local info = {}
    for i = 1, #fields, 2 do
      info[fields[i]] = fields[i + 1]
    end
    if info['name'] == group then
      return info['pending'], info['last-delivered-id']
    end
  end
  redis.call('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
  return 0, '0-0'
end

local function live_slots()
  local live = redis.call('ZRANGEBYSCORE', heartbeats, now_ms - heartbeat_window_ms, '+inf')
  local slots = 0
  if #live > 0 then
    for _, count in ipairs(redis.call('HMGET', workers, unpack(live))) do
      slots = slots + (tonumber(count) or 0)
    end
  end
  return slots
end

local function smoothed_utilization(in_flight, slots)
  local saved = redis.call('HMGET', utilization, 'value', 'at_ms')
  local value, at_ms = tonumber(saved[1]), tonumber(saved[2])
  if slots == 0 then
    return value or 0
  end
  local occupied = math.min(in_flight, slots) / slots
  if not value then
    return occupied
  end
  local elapsed_s = math.max(0, now_s - at_ms / 1000)
  return value + (occupied - value) * (1 - math.exp(-elapsed_s / smoothing_s))
end

local in_flight, last_delivered = pending_and_last_delivered()
local signals = { in_flight = in_flight, slots = live_slots(), queue_age_s = 0 }
-- Not the group's lag, which is unknown once entries have been deleted.
signals.queue_depth = math.max(0, redis.call('XLEN', stream) - in_flight)
signals.utilization_ratio = smoothed_utilization(in_flight, signals.slots)
local head = redis.call('XRANGE', stream, '(' .. last_delivered, '+', 'COUNT', 1)[1]
if head then
  signals.queue_age_s = math.max(0, now_ms - tonumber(string.match(head[1], '^%d+'))) / 1000
end
if saves_utilization and signals.slots > 0 then
  redis.call('HSET', utilization,
    'value', string.format('%.17g', signals.utilization_ratio), 'at_ms', string.format('%.3f', now_s * 1000))
end

local function signals_text()
  return string.format('%.17g %d %d %d %.17g', signals.queue_age_s, signals.queue_depth, signals.in_flight,
    signals.slots, signals.utilization_ratio)
end

local function take_condition()
  local value, comparison, limit = signals[take()], take(), take_number()
  if comparison == '>' then
    return value > limit
  end
  return value >= limit
end

-- Every rule is read to its end, whichever holds, since the next one starts there.
local function first_holding_rule()
  local first, turns_away = 0, false
  for rule = 1, take_number() do
    local rule_turns_away, holds = take() == '1', true
    for _ = 1, take_number() do
      holds = take_condition() and holds
    end
    if holds and first == 0 then
      first, turns_away = rule, rule_turns_away
    end
  end
  return first, turns_away
end

local function enqueue(key, job, request_id, job_class, deadline_s)
  local created, deadline = string.format('%.6f', now_s), string.format('%.6f', now_s + deadline_s)
  local entry = redis.call('XADD', stream, '*', version_field, version,
    job_field, job .. ',"created_at":' .. created .. ',"deadline_at":' .. deadline .. '}')
  redis.call('HSET', key, 'status', 'queued', 'request_id', request_id, 'job_class', job_class,
    'created_at', created, 'deadline_at', deadline, 'entry_id', entry)
  redis.call('EXPIRE', key, retention_s)
  signals.queue_depth = signals.queue_depth + 1
end

local reply = { string.format('%.6f', now_s) }
for request = 5, #KEYS do
  local job, request_id, job_class, deadline_s = take(), take(), take(), take_number()
  local rule, turns_away = first_holding_rule()
  local seen, outcome = signals_text(), 0
  if not turns_away then
    -- A hash that is there already is the mark of a job taken back while this call was on its way.
    if now_s > latest_at or redis.call('EXISTS', KEYS[request]) == 1 then
      outcome = -1
    else
      enqueue(KEYS[request], job, request_id, job_class, deadline_s)
      outcome = 1
    end
  end
  reply[#reply + 1] = outcome .. ' ' .. rule .. ' ' .. seen
end
reply[#reply + 1] = signals_text()
return reply
