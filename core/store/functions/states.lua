-- The state of each workspace's delivery (docs/deliveries.md), and the index of a shard's workspaces by state. The index
-- is the sorted set `:states`. Its elements '<rank>:<time, 13 digits>:<workspace>' are ordered as text, and each
-- workspace has one element. The time is in ms: for a failing workspace, the time at which it began to fail; otherwise,
-- the time at which the workspace was created. The state of the workspace contains the element's start,
-- '<rank>:<time>', as `listed`, followed by 'p' if events are pushed to the workspace.
--
-- The function that changes a fact also calls settle, in the same step, if the fact can change the state. A state that
-- ends by time alone has an entry in `:turns`: the time at which the state must be computed again. This time can be too
-- early, e.g. because the bridge has polled since, but not too late. So polls and accepted attempts that do not change
-- the state do not write to the index or to `:turns`.
--
-- A core of an older release changes facts without calling settle, and does not write the facts about pushes. So
-- check_states computes all states again every CHECKED_EVERY_MS, and compares the facts about pushes with the log.

-- Lua allows 200 local variables in a block, so only those that other files use are outside the block below.
local is_good, last_attempt, settle, remove_from_states, note_push_fact, settle_due, check_states
-- The results of deliveries that were dropped, so they are not results of attempts.
local DROP_REASONS = @DROP_REASONS@

do

-- The rank of each state in the index.
local RANKS = @STATE_RANKS@
local POLLED_LATELY_MS = @POLLED_LATELY_MS@
local RECOVERED_FOR_MS = @RECOVERED_FOR_MS@
local DEGRADED_FOR_MS = @DEGRADED_FOR_MS@
local LOGGED_MS = @LOGGED_SECONDS@ * 1000
-- The length of '<rank>:<time>'.
local PLACE_LENGTH = 16
-- Maximum number of log entries that are read to find the last attempt.
local LAST_ATTEMPT_WITHIN = 20

-- Whether a place in the index is that of a healthy or a recovered workspace. A poll does not change these states.
function is_good(listed)
  local rank = listed and string.sub(listed, 1, 2)
  return rank == RANKS.healthy or rank == RANKS.recovered
end

-- Returns the last logged attempt of a workspace, decoded, and its time in ms; nil if the last entries are drops.
function last_attempt(prefix, workspace)
  local entries = redis.call('XREVRANGE', prefix .. ':log:' .. workspace, '+', '-', 'COUNT', 1)
  if not entries[1] then return end
  local function find()
    for _, entry in ipairs(entries) do
      local delivery = attempt_of(entry[2][2])
      if not DROP_REASONS[delivery[4]] and delivery[2] ~= 'poll' then
        return delivery, tonumber(string.match(entry[1], '^%d+'))
      end
    end
  end
  local delivery, at = find()
  if delivery then return delivery, at end
  entries = redis.call('XREVRANGE', prefix .. ':log:' .. workspace, '+', '-', 'COUNT', LAST_ATTEMPT_WITHIN)
  return find()
end

-- Returns the facts about pushes that the log contains and that can still affect the state.
local function facts_of_log(prefix, workspace, now_ms)
  local log, from, facts, oldest, first_accepted = prefix .. ':log:' .. workspace, '+', {}, now_ms - RECOVERED_FOR_MS, nil
  local is_accepted_before = false
  while true do
    local entries = redis.call('XREVRANGE', log, from, '-', 'COUNT', 100)
    for _, entry in ipairs(entries) do
      local at, delivery = tonumber(string.match(entry[1], '^%d+')), entry[2][2]
      if at < oldest and facts.attempted_ms and (facts.failed_ms or first_accepted < oldest) then return facts end
      local is_accepted = is_logged_success(delivery)
      local decoded = is_accepted and {} or attempt_of(delivery)
      if is_accepted and not string.find(delivery, '^%["[^"]*","poll"') then
        facts.attempted_ms = facts.attempted_ms or at
        if facts.failed_ms then is_accepted_before = true else first_accepted = at end
      elseif decoded[4] == 'overloaded' then
        facts.overloaded_ms = facts.overloaded_ms or at
      elseif decoded[4] and not DROP_REASONS[decoded[4]] then
        facts.attempted_ms = facts.attempted_ms or at
        if not facts.failed_ms then
          facts.failed_ms, facts.accepted_ms = at, first_accepted
        elseif is_accepted_before then
          facts.failed_before_ms = at
          return facts
        end
      end
    end
    if #entries < 100 then return facts end
    from = '(' .. entries[100][1]
  end
end

-- Adds facts from the log that the state lacks, which happens when a core of an older release has logged the attempts.
-- The state can contain facts that the log no longer contains, because the log is bounded.
local function adopt_facts(prefix, workspace, state, now_ms)
  local key, logged = state_key(prefix, workspace), facts_of_log(prefix, workspace, now_ms)
  local function set(name, value)
    if not value or value == state[name] then return end
    state[name] = value
    redis.call('HSET', key, STATE[name], digits(value))
  end
  set('attempted_ms', math.max(logged.attempted_ms or 0, state.attempted_ms or 0))
  set('overloaded_ms', math.max(logged.overloaded_ms or 0, state.overloaded_ms or 0))
  if (logged.failed_ms or 0) > (state.failed_ms or 0) then
    set('failed_before_ms', logged.failed_before_ms)
    set('failed_ms', logged.failed_ms)
    if not logged.accepted_ms and state.accepted_ms then redis.call('HDEL', key, STATE.accepted_ms) end
    state.accepted_ms = nil
    set('accepted_ms', logged.accepted_ms)
  elseif state.failed_ms and not state.accepted_ms and logged.failed_ms == state.failed_ms then
    set('accepted_ms', logged.accepted_ms)
  end
end

-- Whether the facts lack the last logged attempt, which ended at the time `at`.
local function lacks_attempt(state, attempt, at)
  if not attempt then return false end
  if not state.attempted_ms then return true end
  local is_failing = state.failed_ms and not state.accepted_ms
  if attempt[4] == 'success' then return is_failing end
  return not is_failing or state.failed_ms < at
end

-- The functions below return the name of the state, and the time in ms at which the state may end by itself; nil if it
-- cannot end by itself.

local function good_state(recovered_ms, now_ms, ends)
  if not recovered_ms or now_ms - recovered_ms >= RECOVERED_FOR_MS then return 'healthy', ends end
  return 'recovered', math.min(ends, recovered_ms + RECOVERED_FOR_MS)
end

local function poll_state(prefix, workspace, state, now)
  if state.polls_failing_ms then return 'failing' end
  if not state.polled_us then return 'unused' end
  local now_ms, polled_ms = math.floor(now / 1000), math.floor(state.polled_us / 1000)
  if now_ms - polled_ms <= POLLED_LATELY_MS then
    return good_state(state.polls_recovered_ms, now_ms, polled_ms + POLLED_LATELY_MS + 1)
  end
  local count, oldest = waiting(prefix, workspace, now, state)
  if count == 0 then return 'idle' end
  return 'degraded', math.ceil((oldest + HOLD_US) / 1000)
end

-- `attempted_ms` is the time of the last attempt; nil if there was none.
local function push_state(state, attempted_ms, now_ms)
  if not attempted_ms or now_ms - attempted_ms > LOGGED_MS then return 'unused' end
  local ends = attempted_ms + LOGGED_MS + 1
  if state.failed_ms and not state.accepted_ms then return 'failing', ends end
  -- As in the log, failures are forgotten after LOGGED_MS.
  local is_known = state.failed_ms and now_ms - state.failed_ms <= LOGGED_MS
  if is_known then ends = math.min(ends, state.failed_ms + LOGGED_MS + 1) end
  local degraded_ms = state.failed_before_ms or 0
  if (state.overloaded_ms or 0) > (state.failed_ms or 0) then degraded_ms = math.max(degraded_ms, state.overloaded_ms) end
  if now_ms - degraded_ms < DEGRADED_FOR_MS then return 'degraded', math.min(ends, degraded_ms + DEGRADED_FOR_MS) end
  return good_state(is_known and state.accepted_ms, now_ms, ends)
end

local read_settled_state = state_reader('mode', 'listed', 'created_ms', 'polled_us', 'polls_failing_ms',
  'polls_recovered_ms', 'served_through', 'held_total', 'attempted_ms', 'failed_ms', 'accepted_ms', 'failed_before_ms',
  'overloaded_ms')

local function record_of(prefix, workspace)
  return cjson.decode(redis.call('GET', prefix .. ':ws:' .. workspace) or '{}')
end

local function element_of(listed, workspace)
  return string.sub(listed, 1, PLACE_LENGTH) .. ':' .. workspace
end

-- Moves a workspace to its place in the index.
local function list_state(prefix, workspace, state, name)
  local rank, since = RANKS[name], state.created_ms
  if not since then
    since = record_of(prefix, workspace).createdAtMs or 0
    redis.call('HSET', state_key(prefix, workspace), STATE.created_ms, digits(since))
  end
  local listed, mode = state.listed, state.mode == 'push' and 'p' or ''
  if name == 'failing' then
    since = state.mode == 'poll' and state.polls_failing_ms or state.failed_ms
    -- A workspace that is still failing keeps the time of its first failure, unless the mode has changed: that time
    -- belongs to the old mode.
    local is_known = listed and string.sub(listed, 1, 2) == rank and string.sub(listed, PLACE_LENGTH + 1) == mode
    if is_known then since = tonumber(string.sub(listed, 4, PLACE_LENGTH)) end
  end
  local place = rank .. ':' .. string.format('%013d', since)
  state.listed = place .. mode
  if state.listed == listed then return false end
  if listed then redis.call('ZREM', prefix .. ':states', element_of(listed, workspace)) end
  redis.call('ZADD', prefix .. ':states', 0, element_of(place, workspace))
  redis.call('HSET', state_key(prefix, workspace), STATE.listed, state.listed)
  return true
end

-- Computes the state of a workspace, and corrects the index. With `is_deep`, compares the facts with the log even if the
-- last attempt is known. Returns the facts, the last attempt and its time; nil if the workspace does not exist.
function settle(prefix, workspace, now, is_deep)
  local state, now_ms = read_settled_state(prefix, workspace), math.floor(now / 1000)
  if not state.mode then return end
  local attempt, at = last_attempt(prefix, workspace)
  local name, ends
  if state.mode == 'poll' then
    name, ends = poll_state(prefix, workspace, state, now)
  elseif state.mode == 'push' then
    -- If the last entries of the log are drops, the whole log must be read to find the last attempt.
    local is_old = not at and state.attempted_ms and now_ms - state.attempted_ms > LOGGED_MS
    if is_deep or is_old or lacks_attempt(state, attempt, at) then adopt_facts(prefix, workspace, state, now_ms) end
    name, ends = push_state(state, at or state.attempted_ms, now_ms)
  else
    name = record_of(prefix, workspace).platform == 'native' and 'native' or 'disconnected'
  end
  local is_moved = list_state(prefix, workspace, state, name)
  local turns = prefix .. ':turns'
  if not ends then
    redis.call('ZREM', turns, workspace)
  elseif is_moved then
    redis.call('ZADD', turns, digits(ends), workspace)
  else
    -- If this write is lost, the state is only computed once more than necessary.
    write_unlogged(function() redis.call('ZADD', turns, digits(ends), workspace) end)
  end
  return state, attempt, at
end

-- Removes a workspace from the index before its state is deleted.
function remove_from_states(prefix, workspace)
  local listed = redis.call('HGET', state_key(prefix, workspace), STATE.listed)
  if listed then redis.call('ZREM', prefix .. ':states', element_of(listed, workspace)) end
  redis.call('ZREM', prefix .. ':turns', workspace)
end

local read_facts = state_reader('attempted_ms', 'failed_ms', 'accepted_ms')

-- Notes a delivery that was logged as `entry`. `listed` is the workspace's place in the index. Most attempts are
-- accepted and change no fact. For such an attempt, this function reads nothing from Redis.
function note_push_fact(prefix, workspace, entry, delivery, listed, is_success)
  local rank = listed and string.sub(listed, 1, 2)
  -- While pushes do not fail, another accepted attempt changes no fact.
  if is_success and rank and #listed > PLACE_LENGTH and rank ~= RANKS.failing and rank ~= RANKS.unused then return end
  local key, at = state_key(prefix, workspace), tonumber(string.match(entry, '^%d+'))
  local facts, is_changed = read_facts(prefix, workspace), true
  if is_success then
    if facts.failed_ms and not facts.accepted_ms then redis.call('HSET', key, STATE.accepted_ms, digits(at)) end
  else
    local result = attempt_of(delivery)[4]
    if result == 'overloaded' then
      redis.call('HSET', key, STATE.overloaded_ms, digits(at))
      if is_good(listed) then settle(prefix, workspace, clock()) end
    end
    if DROP_REASONS[result] then return end
    if facts.accepted_ms then
      redis.call('HDEL', key, STATE.accepted_ms)
      redis.call('HSET', key, STATE.failed_before_ms, digits(facts.failed_ms))
    end
    redis.call('HSET', key, STATE.failed_ms, digits(at))
    is_changed = rank ~= RANKS.failing
  end
  redis.call('HSET', key, STATE.attempted_ms, digits(at))
  if is_changed then settle(prefix, workspace, clock()) end
end

-- Computes again the states that may have ended by themselves.
function settle_due(prefix, now, most)
  local due = redis.call('ZRANGEBYSCORE', prefix .. ':turns', '-inf', digits(now / 1000), 'LIMIT', 0, most)
  for _, workspace in ipairs(due) do
    if not settle(prefix, workspace, now) then redis.call('ZREM', prefix .. ':turns', workspace) end
  end
end

-- The checks of all states of a shard. `:statechecks` contains the position of the check in progress (`at`): the last
-- element of `:all` that was checked. If `:states` contains elements without a workspace, the check continues with
-- `:states`, and `at` is an element of `:states`. `:statechecks` also contains the start of the last check (`began`)
-- and the end of the last complete check (`done`).
local CHECKED_EVERY_MS = 600000
local CHECKED_EACH_SECOND = 10

-- Whether each workspace is in the index. Only cores of older releases create and delete workspaces without updating
-- the index.
local function is_complete(prefix, done)
  return done and redis.call('ZCARD', prefix .. ':all') == redis.call('ZCARD', prefix .. ':states')
end

-- Continues the check in progress with up to `most` workspaces, or starts a check if one is due. In the background,
-- fewer workspaces are checked per call if the index is already complete. Returns whether the index is complete.
function check_states(prefix, now, most, is_background)
  local key, now_ms = prefix .. ':statechecks', math.floor(now / 1000)
  local at, began, done = unpack(redis.call('HMGET', key, 'at', 'began', 'done'))
  local is_ready = is_complete(prefix, done)
  if not at then
    if is_ready and (not is_background or math.abs(now_ms - began) < CHECKED_EVERY_MS) then return true end
    at = 'all '
    redis.call('HSET', key, 'began', digits(now_ms))
  end
  if is_background and is_ready then most = math.min(most, CHECKED_EACH_SECOND) end
  local set, after = string.match(at, '^(%S+) (.*)$')
  local entries = redis.call('ZRANGE', prefix .. ':' .. set, after == '' and '-' or '(' .. after, '+', 'BYLEX', 'LIMIT', 0, most)
  for _, entry in ipairs(entries) do
    if set == 'all' then
      local workspace = string.match(entry, ':(.*)$')
      -- An element without a workspace, e.g. after a repair by hand, would keep the index incomplete permanently.
      local exists = settle(prefix, workspace, now, true) or redis.call('EXISTS', prefix .. ':ws:' .. workspace) == 1
      if not exists then redis.call('ZREM', prefix .. ':all', entry) end
    else
      local listed, workspace = string.match(entry, '^(%d+:%d+):(.*)$')
      local stored = redis.call('HGET', state_key(prefix, workspace), STATE.listed)
      if not stored or string.sub(stored, 1, PLACE_LENGTH) ~= listed then
        redis.call('ZREM', prefix .. ':states', entry)
      end
    end
  end
  if #entries == most then
    redis.call('HSET', key, 'at', set .. ' ' .. entries[most])
  elseif set == 'all' and redis.call('ZCARD', prefix .. ':all') < redis.call('ZCARD', prefix .. ':states') then
    redis.call('HSET', key, 'at', 'states ')
  else
    redis.call('HDEL', key, 'at')
    redis.call('HSET', key, 'done', digits(now_ms))
    return is_complete(prefix, true)
  end
  return false
end

-- Continues the check of all states. ARGV: maximum number of workspaces. Returns 1 when the index is complete,
-- otherwise 0.
register('check_states', function(keys, args)
  return check_states(keys[1], clock(), tonumber(args[1])) and 1 or 0
end, { 'allow-oom' })

-- Lists workspaces in the order of the index: the highest rank first, and the newest time first.
-- ARGV: maximum number of states to compute; the element to start after ('' for the first page), maximum number of
-- elements, and the ranks to list, highest first. Returns {1 if the index is complete, otherwise 0; then the elements}.
register('list_states', function(keys, args)
  local prefix, after, left = keys[1], args[2], tonumber(args[3])
  settle_due(prefix, clock(), tonumber(args[1]))
  local done = redis.call('HGET', prefix .. ':statechecks', 'done')
  local answer = { is_complete(prefix, done) and 1 or 0 }
  for i = 4, #args do
    local rank = args[i]
    if left > 0 and (after == '' or rank <= string.sub(after, 1, 2)) then
      local from = string.sub(after, 1, 2) == rank and '(' .. after or '(' .. rank .. ';'
      local found = redis.call('ZRANGE', prefix .. ':states', from, '[' .. rank .. ':', 'BYLEX', 'REV', 'LIMIT', 0, left)
      for _, entry in ipairs(found) do answer[#answer + 1] = entry end
      left = left - #found
    end
  end
  return answer
end, { 'allow-oom' })

-- Counts the workspaces with each rank. ARGV: maximum number of states to compute, and ranks. Returns {1 if the index is complete, otherwise 0; then the counts}.
register('count_states', function(keys, args)
  local prefix = keys[1]
  settle_due(prefix, clock(), tonumber(args[1]))
  local done = redis.call('HGET', prefix .. ':statechecks', 'done')
  local answer = { is_complete(prefix, done) and 1 or 0 }
  for i = 2, #args do
    local rank = args[i]
    answer[#answer + 1] = redis.call('ZLEXCOUNT', prefix .. ':states', '[' .. rank .. ':', '(' .. rank .. ';')
  end
  return answer
end, { 'allow-oom' })

-- Reads the states of workspaces. ARGV: workspaces. Returns for each workspace, in order: {} if it does not exist, or
-- {place in the index; end of the last outage; time of the last poll; time of the last attempt; the last attempt as
-- JSON, '' for none}. The times are in ms, or 0 for never.
register('read_states', function(keys, args)
  local prefix, now, answers = keys[1], clock(), {}
  for i, workspace in ipairs(args) do
    local state, attempt, at = settle(prefix, workspace, now)
    if not state then
      answers[i] = {}
    else
      local recovered = state.mode == 'push' and state.accepted_ms or state.mode == 'poll' and state.polls_recovered_ms
      answers[i] = { string.sub(state.listed, 1, PLACE_LENGTH), digits(recovered or 0), digits((state.polled_us or 0) / 1000), digits(at or 0),
        attempt and cjson.encode(attempt) or '' }
    end
  end
  return answers
end, { 'allow-oom' })

end
