-- Operator events notify operators of changes in the delivery of a workspace's events. The function that makes a change
-- also adds the event to the outbox of the shard (`:operator`), in the same step. So each change causes exactly one
-- event.
--
-- For polls, find_failing adds `workspace.failing`, and the next poll adds `workspace.recovered`. For pushes, `:due`
-- stores the time at which a workspace begins to fail, if its state contains `pushes_failing_ms`. Most attempts are
-- accepted. So for an accepted attempt, `pushes_failing_ms` is read together with other fields, and nothing is written
-- if the field is not set.

local OPERATOR_EVENTS_MAX = @OPERATOR_EVENTS_MAX@
local OPERATOR_EVENTS_WORKSPACE_MAX = @OPERATOR_EVENTS_WORKSPACE_MAX@
local OPERATOR_EVENT_SECONDS = @OPERATOR_EVENT_SECONDS@
local OPERATOR_EVENT_EVERY_MS = @OPERATOR_EVENT_EVERY_MS@
local PUSH_FAILING_AFTER_MS = @PUSH_FAILING_AFTER_MS@

-- Adds an event to the outbox. A full outbox drops its oldest event. If a workspace has used up
-- its share of the outbox, its own oldest event is dropped. `:operators:<workspace>` contains
-- the entry ids of the workspace's events, oldest first. This list may also contain ids of events that were trimmed
-- from the outbox. Those ids are the oldest in the list, so they are removed first. `:operatordropped` counts the
-- dropped events until find_failing is called.
local function add_operator_event(prefix, workspace, type, facts)
  local key, own, dropped = prefix .. ':operator', prefix .. ':operators:' .. workspace, 0
  local entry = redis.call('XADD', key, '*', 'w', workspace, 't', type, 'f', cjson.encode(facts))
  if redis.call('RPUSH', own, entry) > OPERATOR_EVENTS_WORKSPACE_MAX then
    dropped = redis.call('XDEL', key, redis.call('LPOP', own))
  end
  redis.call('EXPIRE', own, OPERATOR_EVENT_SECONDS)
  dropped = dropped + redis.call('XTRIM', key, 'MAXLEN', OPERATOR_EVENTS_MAX)
  if dropped > 0 then redis.call('INCRBY', prefix .. ':operatordropped', dropped) end
end

local read_outage_state = state_reader('mode', 'pushes_failing_ms', 'push_outage_ms', 'outage_reported_ms',
  'exhausted_reported_ms')

-- Ends the outage of a push workspace, if there is one.
local function end_push_outage(prefix, workspace, reason)
  local state = read_outage_state(prefix, workspace)
  redis.call('HDEL', state_key(prefix, workspace), STATE.pushes_failing_ms, STATE.push_outage_ms)
  if state.mode == 'push' then redis.call('ZREM', prefix .. ':due', workspace) end
  if state.push_outage_ms then
    add_operator_event(prefix, workspace, 'workspace.recovered', { mode = 'push', reason = reason, since = state.push_outage_ms })
  end
end

-- Notes a logged delivery. `is_failing` says whether the workspace's state contains `pushes_failing_ms`.
local function note_attempt(prefix, workspace, delivery, is_failing, is_success)
  if is_success then
    if is_failing then end_push_outage(prefix, workspace, 'accepted') end
    return
  end
  if is_failing or DROP_REASONS[attempt_of(delivery)[4]] then return end
  local state, now = read_outage_state(prefix, workspace), math.floor(clock() / 1000)
  -- An attempt can end after its workspace has become a poll workspace, and poll workspaces use `:due` differently.
  if state.mode ~= 'push' then return end
  redis.call('HSET', state_key(prefix, workspace), STATE.pushes_failing_ms, digits(now))
  local due = math.max(now + PUSH_FAILING_AFTER_MS, (state.outage_reported_ms or 0) + OPERATOR_EVENT_EVERY_MS)
  redis.call('ZADD', prefix .. ':due', digits(due), workspace)
end

-- Marks a push workspace as failing, after it was found in `:due`.
local function begin_push_outage(prefix, workspace)
  local key, failing = state_key(prefix, workspace), read_outage_state(prefix, workspace).pushes_failing_ms
  if not failing then return end
  local attempt = last_attempt(prefix, workspace) or {}
  if attempt[4] == 'success' then
    -- A core of an older release logged this accepted attempt, but did not delete the field.
    redis.call('HDEL', key, STATE.pushes_failing_ms)
    return
  end
  redis.call('HSET', key, STATE.push_outage_ms, digits(failing), STATE.outage_reported_ms, digits(clock() / 1000))
  add_operator_event(prefix, workspace, 'workspace.failing',
    { mode = 'push', reason = attempt[4], status = attempt[5], since = failing })
end

-- Records that the final attempt of an event failed. Called after the final attempt was logged. Only the first such
-- event after an accepted attempt is reported, and at most one event per OPERATOR_EVENT_EVERY_MS. The other events are
-- counted.
local function note_exhausted(prefix, workspace, delivery)
  local event, type, attempts, result, status = unpack(attempt_of(delivery))
  if DROP_REASONS[result] then return end
  local key, state, now = state_key(prefix, workspace), read_outage_state(prefix, workspace), math.floor(clock() / 1000)
  local failing, reported = state.pushes_failing_ms or now, state.exhausted_reported_ms or 0
  local count = redis.call('HINCRBY', key, STATE.exhausted_unreported, 1)
  if reported >= failing or now - reported < OPERATOR_EVENT_EVERY_MS then return end
  redis.call('HSET', key, STATE.exhausted_reported_ms, digits(now), STATE.exhausted_unreported, 0)
  add_operator_event(prefix, workspace, 'event.retries_exhausted', { mode = 'push', reason = result, status = status,
    since = failing, event = event, eventtype = type, attempts = attempts, count = count })
end

-- Removes from the outbox the events that are too old. Returns {number of events in the outbox, number of events that
-- were removed now, number of events that a full outbox has dropped since the last call}.
local function tidy_operator_events(prefix)
  local key, lost = prefix .. ':operator', prefix .. ':operatordropped'
  if redis.call('XLEN', key) == 0 then return { 0, 0, 0 } end
  local oldest = digits(math.floor(clock() / 1000) - OPERATOR_EVENT_SECONDS * 1000)
  local expired = redis.call('XTRIM', key, 'MINID', oldest)
  local dropped = redis.call('GET', lost)
  if dropped then redis.call('DEL', lost) end
  return { redis.call('XLEN', key), expired, tonumber(dropped or 0) }
end

-- Reads entries of an outbox. `args` contains the maximum number of entries, and the id to start at in the syntax of
-- XRANGE. Returns for each entry: {entry id, then the entry's three values}.
local function read_outbox(key, args)
  local answers = {}
  for i, entry in ipairs(redis.call('XRANGE', key, args[2], '+', 'COUNT', args[1])) do
    answers[i] = { entry[1], entry[2][2], entry[2][4], entry[2][6] }
  end
  return answers
end

-- Reads events from the outbox. ARGV: as read_outbox. The values of an event are: workspace; type; facts as JSON.
register('read_operator_events', function(keys, args)
  return read_outbox(keys[1] .. ':operator', args)
end, { 'no-writes' })

-- Removes an event from the outbox. ARGV: entry id, workspace. Returns 1 if the outbox contained the event, otherwise
-- 0.
register('remove_operator_event', function(keys, args)
  redis.call('LREM', keys[1] .. ':operators:' .. args[2], 1, args[1])
  return redis.call('XDEL', keys[1] .. ':operator', args[1])
end, { 'allow-oom' })

-- Counts a test of an address for operator events. ARGV: name of the address; then for each limit, the maximum number
-- of tests and the period in seconds. The limit with the longest period comes last. Returns 0 when the test passes,
-- otherwise the microseconds to wait. Rejected tests do not count.
register('admit_test', function(keys, args)
  local key, now, wait = keys[1] .. ':tested:' .. args[1], clock(), 0
  for i = 2, #args, 2 do
    local oldest = redis.call('LINDEX', key, args[i] - 1)
    if oldest then wait = math.max(wait, tonumber(oldest) + args[i + 1] * MICROSECONDS - now) end
  end
  if wait > 0 then return wait end
  redis.call('LPUSH', key, digits(now))
  redis.call('LTRIM', key, 0, args[#args - 1] - 1)
  redis.call('EXPIRE', key, args[#args])
  return 0
end)
