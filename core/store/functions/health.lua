-- The health of polling. An event is waiting while it is held (for at most 24 hours) and is newer than the last event
-- that was served to the bridge (`served_through`). A poll workspace begins to fail five minutes after its oldest
-- waiting event was held, or after its last poll, whichever is later. For each workspace in the state "waiting" below,
-- `:due` stores the time at which it begins to fail. So `find_failing` has to read only the workspaces in `:due`.
--
--   healthy ──an event is held──▶ waiting ──5 minutes without a poll──▶ failing
--      ▲                            │  ▲                                  │ │
--      │◀──a poll gets all events───┘  └───a poll gets some of them───────┘ │
--      └─────────────────────────────a poll gets all events─────────────────┘
--
-- A waiting workspace is in `:due`. The state of a failing workspace contains
-- `polls_failing_ms`. `:due` also contains push workspaces, which operator.lua describes.
local FAILING_AFTER_MS = @FAILING_AFTER_MS@

-- Records that the workspace now has waiting events.
local function begin_waiting(prefix, workspace, now)
  redis.call('ZADD', prefix .. ':due', digits(now / 1000 + FAILING_AFTER_MS), workspace)
end

-- While consecutive polls return no events, only the first poll of each minute is written to
-- the append-only file. So most of these polls do not cause a disk write. After a restart,
-- `polled_us` can be up to a minute older than the last poll.
local LOGGED_EVERY_US = 60 * MICROSECONDS

local function is_same_minute(now, polled_us)
  return math.floor(now / LOGGED_EVERY_US) == math.floor(polled_us / LOGGED_EVERY_US)
end

-- Records a poll that served the events up to the sequence `through`. `state` is the state of
-- the workspace before the poll, and `run` is the result of log_poll.
local function note_poll(prefix, workspace, now, state, through, run)
  local key, failing = state_key(prefix, workspace), state.polls_failing_ms
  local last_held, served_through = state.last_held, state.served_through
  through = math.min(last_held, math.max(served_through, through))
  local is_idle = run and state.poll_run and through == served_through and last_held == served_through and not failing
  -- After a poll, every workspace is healthy or recovered. If the clock has stepped back, the entry in `:turns` may be too
  -- late for the new time of the last poll.
  local is_settled = is_good(state.listed) and not failing and (state.polled_us or 0) <= now
  if is_idle and is_same_minute(now, state.polled_us) then
    write_unlogged(function() redis.call('HSET', key, STATE.polled_us, clock_digits(), STATE.poll_run, run) end)
    if not is_settled then settle(prefix, workspace, now) end
    return
  end
  if through > served_through then
    state.served_through = through
    redis.call('HSET', key, STATE.polled_us, clock_digits(), STATE.held_facts, pack_facts(state))
  else
    redis.call('HSET', key, STATE.polled_us, clock_digits())
  end
  if run then redis.call('HSET', key, STATE.poll_run, run) end
  if failing then
    redis.call('HDEL', key, STATE.polls_failing_ms)
    redis.call('HSET', key, STATE.polls_recovered_ms, digits(now / 1000))
    add_operator_event(prefix, workspace, 'workspace.recovered', { mode = 'poll', reason = 'polled', since = failing })
  end
  if not is_settled then settle(prefix, workspace, now) end
  if last_held > through then
    begin_waiting(prefix, workspace, now)
  elseif last_held > served_through then
    redis.call('ZREM', prefix .. ':due', workspace)
  end
end

local read_due_state = state_reader('mode', 'served_through', 'polls_failing_ms', 'held_total')

-- In one step, finds the workspaces whose polling has begun to fail, marks these workspaces, and adds an email and an
-- operator event for each workspace to the outboxes. So each outage causes only one email, even if the function is
-- called many times. A full outbox drops its oldest emails. Also adds the operator events for push workspaces that have
-- begun to fail, and updates the index of the workspaces by state (see states.lua).
-- ARGV: maximum number of emails in the outbox; maximum number of states to compute, both for the states that are due
-- and for the check of all states.
-- Returns {number of emails in the outbox, number of unsent emails that were dropped, the result of
-- tidy_operator_events, then the ids of the poll workspaces that have begun to fail}.
register('find_failing', function(keys, args)
  local prefix = keys[1]
  local now = clock()
  local found = {}
  local due = redis.call('ZRANGEBYSCORE', prefix .. ':due', '-inf', digits(now / 1000), 'LIMIT', 0, 100)
  for _, workspace in ipairs(due) do
    redis.call('ZREM', prefix .. ':due', workspace)
    local state = read_due_state(prefix, workspace)
    local is_polled = state.mode == 'poll' and not state.polls_failing_ms
    local oldest = is_polled and select(2, waiting(prefix, workspace, now, state))
    if oldest then
      redis.call('HSET', state_key(prefix, workspace), STATE.polls_failing_ms, digits(now / 1000))
      redis.call('XADD', prefix .. ':mail', '*', 'w', workspace, 's', digits(now / 1000), 'o', digits(oldest / 1000))
      add_operator_event(prefix, workspace, 'workspace.failing',
        { mode = 'poll', reason = 'not-polling', since = math.floor(now / 1000), oldest = math.floor(oldest / 1000) })
      found[#found + 1] = workspace
    end
    if state.mode == 'push' then begin_push_outage(prefix, workspace) end
    settle(prefix, workspace, now)
  end
  settle_due(prefix, now, tonumber(args[2]))
  check_states(prefix, now, tonumber(args[2]), true)
  local dropped = #found > 0 and redis.call('XTRIM', prefix .. ':mail', 'MAXLEN', args[1]) or 0
  return { redis.call('XLEN', prefix .. ':mail'), dropped, tidy_operator_events(prefix), unpack(found) }
end, { 'allow-oom' })

local WAITING_MAX = 1000
local read_health_state = state_reader('polls_failing_ms', 'polled_us', 'served_through', 'held_total',
  'polls_recovered_ms', 'refused_ms')

-- Reads the polling health of a workspace. ARGV: workspace.
-- Returns {failing since, last poll, number of waiting events (up to 1,000), publication time
-- of the oldest waiting event, end of the last outage, last time at which an event was refused
-- because too many bytes were held}. Times are in ms, or 0 for never.
register('poll_health', function(keys, args)
  local state = read_health_state(keys[1], args[1])
  local count, oldest = waiting(keys[1], args[1], clock(), state)
  return { digits(state.polls_failing_ms or 0), digits((state.polled_us or 0) / 1000),
    math.min(count, WAITING_MAX), digits((oldest or 0) / 1000),
    digits(state.polls_recovered_ms or 0), digits(state.refused_ms or 0) }
end, { 'no-writes' })

-- Reads emails from the outbox. ARGV: as read_outbox. The values of an email are: workspace; time in ms at which the
-- workspace began to fail; publication time in ms of its oldest waiting event.
register('read_mail', function(keys, args)
  return read_outbox(keys[1] .. ':mail', args)
end, { 'no-writes' })

-- Removes an email from the outbox after it was sent or dropped. ARGV: entry id. Returns 1 if the outbox contained the
-- email, otherwise 0.
register('remove_mail', function(keys, args)
  return redis.call('XDEL', keys[1] .. ':mail', args[1])
end, { 'allow-oom' })
