-- The health of polling. An event "waits" while it is held (for 24 hours at most) and newer
-- than the last event that was served to the bridge (`served`). A poll workspace begins to fail
-- five minutes after its oldest waiting event was held, or after its last poll, whichever is
-- later. `:due` has this time for each workspace in the state "waiting" below, so `find_failing`
-- reads no other workspaces.
--
--   healthy ──an event is held──▶ waiting ──5 minutes without a poll──▶ failing
--      ▲                            │  ▲                                  │ │
--      │◀──a poll gets all events───┘  └───a poll gets some of them───────┘ │
--      └─────────────────────────────a poll gets all events─────────────────┘
--
-- A waiting workspace is in `:due`. The state of a failing workspace has the field `failing`.
-- `:due` also has push workspaces: operator.lua describes these.
local FAILING_AFTER_MS = @FAILING_AFTER_MS@

-- Records that the workspace has waiting events from now on.
local function begin_waiting(prefix, workspace, now)
  redis.call('ZADD', prefix .. ':due', digits(now / 1000 + FAILING_AFTER_MS), workspace)
end

-- While consecutive polls return no events, only the first poll of each minute is written to
-- the append-only file. So most of these polls cause no disk write. After a restart, `polled`
-- can be up to a minute older than the last poll.
local LOGGED_EVERY_US = 60 * MICROSECONDS

local function is_same_minute(now, polled)
  return math.floor(now / LOGGED_EVERY_US) == math.floor(tonumber(polled) / LOGGED_EVERY_US)
end

-- Records a poll that served the events up to the sequence `through`. `fields` is the state
-- of the workspace, and `run` is the result of log_poll.
local function note_poll(prefix, workspace, now, held, served, through, fields, run)
  local state, failing = prefix .. ':st:' .. workspace, fields.failing
  through = math.min(held, math.max(served, through))
  local isIdle = run and fields.run and through == served and held == served and not failing
  if isIdle and is_same_minute(now, fields.polled) then
    write_unlogged(function() redis.call('HSET', state, 'polled', digits(now), 'run', run) end)
    return
  end
  redis.call('HSET', state, 'polled', digits(now), 'served', digits(through))
  if run then redis.call('HSET', state, 'run', run) end
  if failing then
    redis.call('HDEL', state, 'failing')
    redis.call('HSET', state, 'recovered', digits(now / 1000))
    add_operator_event(prefix, workspace, 'workspace.recovered', { mode = 'poll', reason = 'polled', since = tonumber(failing) })
  end
  if held > through then
    begin_waiting(prefix, workspace, now)
  elseif held > served then
    redis.call('ZREM', prefix .. ':due', workspace)
  end
end

-- Returns the number of waiting events, and the sequence of the oldest waiting event, if any.
-- `served` and `total` are fields of the workspace's state.
local function waiting(prefix, workspace, now, served, total)
  local after = math.max(tonumber(served or 0), now - HOLD_US)
  local entries, count = events_after(prefix, workspace, after, 1, tonumber(total or 0))
  return count, entries[1] and sequence_of(entries[1])
end

-- Finds workspaces whose polling has begun to fail, marks them, and adds an email and an operator
-- event for each to the outboxes, in one step. So each outage causes one email, however often the
-- function is called. A full outbox drops its oldest emails. Also adds the operator events for
-- push workspaces that have begun to fail.
-- ARGV: maximum number of emails in the outbox.
-- Returns {number of emails in the outbox, number of emails dropped unsent, the result of
-- tidy_operator_events, then the ids of the poll workspaces that were found}.
register('find_failing', function(keys, args)
  local prefix = keys[1]
  local now = clock()
  local found = {}
  local due = redis.call('ZRANGEBYSCORE', prefix .. ':due', '-inf', digits(now / 1000), 'LIMIT', 0, 100)
  for _, workspace in ipairs(due) do
    redis.call('ZREM', prefix .. ':due', workspace)
    local state = prefix .. ':st:' .. workspace
    local fields = redis.call('HMGET', state, 'mode', 'served', 'failing', 'total')
    local isPolled = fields[1] == 'poll' and not fields[3]
    local oldest = isPolled and select(2, waiting(prefix, workspace, now, fields[2], fields[4]))
    if oldest then
      redis.call('HSET', state, 'failing', digits(now / 1000))
      redis.call('XADD', prefix .. ':mail', '*', 'w', workspace, 's', digits(now / 1000), 'o', digits(oldest / 1000))
      add_operator_event(prefix, workspace, 'workspace.failing',
        { mode = 'poll', reason = 'not-polling', since = math.floor(now / 1000), oldest = math.floor(oldest / 1000) })
      found[#found + 1] = workspace
    end
    if fields[1] == 'push' then begin_push_outage(prefix, workspace) end
  end
  local dropped = #found > 0 and redis.call('XTRIM', prefix .. ':mail', 'MAXLEN', args[1]) or 0
  return { redis.call('XLEN', prefix .. ':mail'), dropped, tidy_operator_events(prefix), unpack(found) }
end, { 'allow-oom' })

local WAITING_MAX = 1000

-- Reads the polling health of a workspace. ARGV: workspace.
-- Returns {failing since, last poll, number of waiting events (up to 1,000), publication time
-- of the oldest waiting event, end of the last outage, last time at which an event was refused
-- because too many bytes were held}. Times are in ms, or 0 for never.
register('poll_health', function(keys, args)
  local now = clock()
  local fields = redis.call('HMGET', keys[1] .. ':st:' .. args[1], 'failing', 'polled', 'served', 'total', 'recovered', 'refused')
  local count, oldest = waiting(keys[1], args[1], now, fields[3], fields[4])
  return { digits(tonumber(fields[1] or 0)), digits(tonumber(fields[2] or 0) / 1000),
    math.min(count, WAITING_MAX), digits((oldest or 0) / 1000),
    digits(tonumber(fields[5] or 0)), digits(tonumber(fields[6] or 0)) }
end, { 'no-writes' })

-- Reads emails from the outbox. ARGV: maximum count, start in the syntax of XRANGE. Returns
-- {entry id, workspace, failing since in ms, publication time of the oldest waiting event in
-- ms} for each email.
register('read_mail', function(keys, args)
  local answers = {}
  for i, entry in ipairs(redis.call('XRANGE', keys[1] .. ':mail', args[2], '+', 'COUNT', args[1])) do
    answers[i] = { entry[1], entry[2][2], entry[2][4], entry[2][6] }
  end
  return answers
end, { 'no-writes' })

-- Removes an email from the outbox after it was sent or dropped. ARGV: entry id. Returns 1 if
-- the outbox had the email, else 0.
register('remove_mail', function(keys, args)
  return redis.call('XDEL', keys[1] .. ':mail', args[1])
end, { 'allow-oom' })
