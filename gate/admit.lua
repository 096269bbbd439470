-- Reads the stack's signals and, for each request of a batch in order, decides and enqueues, in one step that no other
-- replica can split. All time is the server's. What is shed writes nothing.
--
-- KEYS  1 stream, 2 workers, 3 heartbeats, 4 utilization, 5 unsettled, 6 waits, then one job hash per request
-- ARGV  group, entry version field, entry version, job field, job retention s, heartbeat window ms,
--       smoothing time constant s, most waits kept, "1" to save the smoothed utilization and the wait last measured,
--       unix s after which nothing may be enqueued, number of classes and per class: name, expected service s; in the
--       order in which the work ahead is added up, every request's class among them;
--       then per request: job JSON without its last brace, the same for a degraded job, request id, job class,
--       deadline s, number of rules and per rule: effect (0 none, 1 turns the request away, 2 degrades it), number of
--       conditions and per condition: signal, comparison, limit
-- Returns the time in unix s; then per request "outcome rule signals": outcome 1 enqueued, 0 turned away, -1 too late or
--       withdrawn, and rule the first that holds, from 1, or 0; last the signals after the batch.

-- Below the gates' sampling interval, so that several replicas measure idle waits no more often than one.
local WAIT_GAP_MS = 40
-- A few sampling intervals: what was delivered before that waited nobody knows how long.
local LOOK_MS = 200

local stream, workers, heartbeats, utilization, unsettled, waits = unpack(KEYS, 1, 6)

local cursor = 0
local function take()
  cursor = cursor + 1
  return ARGV[cursor]
end
local function take_number()
  return tonumber(take())
end

local group, version_field, version, job_field, retention_s = take(), take(), take(), take(), take()
local heartbeat_window_ms, smoothing_s, most_waits = take_number(), take_number(), take_number()
local saves, latest_at = take() == '1', take_number()

local classes, expected_s = {}, {}
for place = 1, take_number() do
  classes[place], expected_s[place] = take(), take_number()
end

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
local length = redis.call('XLEN', stream)
local signals = { in_flight = in_flight, slots = live_slots(), queue_age_s = 0 }
-- Not the group's lag, which is unknown once entries have been deleted.
signals.queue_depth = math.max(0, length - in_flight)
signals.utilization_ratio = smoothed_utilization(in_flight, signals.slots)
local head = redis.call('XRANGE', stream, '(' .. last_delivered, '+', 'COUNT', 1)[1]
if head then
  signals.queue_age_s = math.max(0, now_ms - tonumber(string.match(head[1], '^%d+'))) / 1000
end

-- An empty stream has nothing unsettled, whatever an entry that left it without a settlement left behind.
local unsettled_counts, unsettled_is_stale = {}, length == 0
if #classes > 0 and not unsettled_is_stale then
  unsettled_counts = redis.call('HMGET', unsettled, unpack(classes))
end

local function refresh_derived_signals()
  local work_s, slots = 0, math.max(1, signals.slots)
  for place = 1, #classes do
    work_s = work_s + math.max(0, tonumber(unsettled_counts[place]) or 0) * expected_s[place]
  end
  signals.work_ahead_s = work_s / slots
  signals.queued_per_slot = signals.queue_depth / slots
end
refresh_derived_signals()

local function push_wait(wait_ms)
  redis.call('LPUSH', waits, string.format('%d:%d', now_ms, wait_ms * 1000))
  redis.call('LTRIM', waits, 0, most_waits - 1)
end

local function is_time_for_an_idle_wait()
  local at_ms = string.match(redis.call('LINDEX', waits, 0) or '', '^%d+')
  return not at_ms or math.abs(now_ms - tonumber(at_ms)) >= WAIT_GAP_MS
end

-- What was delivered since the last look, not long ago, had waited until now or a little less.
local function save_wait()
  local looked_ms, delivered = unpack(redis.call('HMGET', utilization, 'at_ms', 'delivered'))
  if last_delivered ~= delivered then
    if delivered and last_delivered ~= '0-0' and now_ms - tonumber(looked_ms) <= LOOK_MS then
      push_wait(math.max(0, now_ms - tonumber(string.match(last_delivered, '^%d+'))))
    end
  elseif signals.queue_depth == 0 and signals.in_flight < signals.slots and is_time_for_an_idle_wait() then
    push_wait(0)
  end
end

if saves and signals.slots > 0 then
  save_wait()
  redis.call('HSET', utilization, 'value', string.format('%.17g', signals.utilization_ratio),
    'at_ms', string.format('%.3f', now_s * 1000), 'delivered', last_delivered)
end

local function signals_text()
  return string.format('%.17g %d %d %d %.17g %.17g', signals.queue_age_s, signals.queue_depth, signals.in_flight,
    signals.slots, signals.utilization_ratio, signals.work_ahead_s)
end

local function take_condition()
  local value, comparison, limit = signals[take()], take(), take_number()
  if comparison == '>' then
    return value > limit
  end
  return value >= limit
end

local NO_EFFECT, TURNS_AWAY, DEGRADES = 0, 1, 2

-- Every rule is read to its end, whichever holds, since the next one starts there.
local function first_holding_rule()
  local first, effect = 0, NO_EFFECT
  for rule = 1, take_number() do
    local rule_effect, holds = take_number(), true
    for _ = 1, take_number() do
      holds = take_condition() and holds
    end
    if holds and first == 0 then
      first, effect = rule, rule_effect
    end
  end
  return first, effect
end

local function count_as_unsettled(job_class)
  if unsettled_is_stale then
    redis.call('DEL', unsettled)
    unsettled_is_stale = false
  end
  local count = redis.call('HINCRBY', unsettled, job_class, 1)
  for place = 1, #classes do
    if classes[place] == job_class then
      unsettled_counts[place] = count
    end
  end
end

local function enqueue(key, job, request_id, job_class, deadline_s)
  local created, deadline = string.format('%.6f', now_s), string.format('%.6f', now_s + deadline_s)
  local entry = redis.call('XADD', stream, '*', version_field, version,
    job_field, job .. ',"created_at":' .. created .. ',"deadline_at":' .. deadline .. '}')
  redis.call('HSET', key, 'status', 'queued', 'request_id', request_id, 'job_class', job_class,
    'created_at', created, 'deadline_at', deadline, 'entry_id', entry)
  redis.call('EXPIRE', key, retention_s)
  signals.queue_depth = signals.queue_depth + 1
  count_as_unsettled(job_class)
  refresh_derived_signals()
end

local reply = { string.format('%.6f', now_s) }
for request = 7, #KEYS do
  local job, degraded_job, request_id, job_class, deadline_s = take(), take(), take(), take(), take_number()
  local rule, effect = first_holding_rule()
  local seen, outcome = signals_text(), 0
  if effect ~= TURNS_AWAY then
    -- A hash that is there already is the mark of a job taken back while this call was on its way.
    if now_s > latest_at or redis.call('EXISTS', KEYS[request]) == 1 then
      outcome = -1
    else
      enqueue(KEYS[request], effect == DEGRADES and degraded_job or job, request_id, job_class, deadline_s)
      outcome = 1
    end
  end
  reply[#reply + 1] = outcome .. ' ' .. rule .. ' ' .. seen
end
reply[#reply + 1] = signals_text()
return reply
