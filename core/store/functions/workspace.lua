-- The record of a workspace. The version and the mode of the workspace are in its state, where
-- other functions read them. A change of a workspace updates the record and the state in one step.

local CHANGES_MAX = @CHANGES_LOGGED_MAX@
local SENDS_MAX = @SENDS_LOGGED_MAX@

-- Logs a change with its time in µs, which is also the id of the change. The log is a list, because Redis reserves 4 KB
-- for a stream that has only one entry.
local function log_change(key, max, at, change)
  if redis.call('LPUSH', key, digits(at) .. ':' .. change) > max then redis.call('LTRIM', key, 0, max - 1) end
end

local read_put_state = state_reader('version', 'mode', 'last_held', 'served_through', 'polls_failing_ms')

-- Creates or replaces a workspace, and logs the changes. The version makes this optimistic
-- locking (compare-and-set): of two concurrent writers, one gets 0 and reads the record again.
-- ARGV: workspace, the version to replace ('0': the workspace must not exist), record, mode, index entry (the
-- workspace's element of the sorted set `:all`), and then the changes to log. Returns the new version, or 0 when the
-- current version is not the version to replace. The new version is at least the current time, because a failover may
-- undo a change. In that case, the next change must get a different version, because a core may have cached the undone
-- change.
local function put_workspace(keys, args)
  local prefix = keys[1]
  local workspace, version, record, mode, entry = unpack(args)
  local key, state = state_key(prefix, workspace), read_put_state(prefix, workspace)
  if (state.version or '0') ~= version then return 0 end
  local now = clock()
  local fresh = math.max(tonumber(version) + 1, now)
  local was = state.mode
  if mode ~= was then
    end_run(prefix, workspace)
    if was == 'push' then end_push_outage(prefix, workspace, 'reconfigured') end
  end
  redis.call('SET', prefix .. ':ws:' .. workspace, record)
  redis.call('HSET', key, STATE.version, digits(fresh), STATE.mode, mode, STATE.created_ms,
    digits(tonumber(string.sub(entry, 1, 13))))
  redis.call('ZADD', prefix .. ':all', 0, entry)
  for i = 6, #args do log_change(prefix .. ':changes:' .. workspace, CHANGES_MAX, now + i - 6, args[i]) end
  if mode ~= 'poll' then
    -- The workspace is no longer a poll workspace, so no event waits for a poll, and any
    -- outage has ended. If the workspace was a push workspace and remains one, its entry in `:due` concerns pushes, so
    -- it is kept.
    if was ~= 'push' or mode ~= 'push' then redis.call('ZREM', prefix .. ':due', workspace) end
    if state.polls_failing_ms then
      redis.call('HDEL', key, STATE.polls_failing_ms)
      add_operator_event(prefix, workspace, 'workspace.recovered',
        { mode = 'poll', reason = 'reconfigured', since = state.polls_failing_ms })
    end
  elseif was ~= 'poll' and (state.last_held or 0) > (state.served_through or 0) then
    begin_waiting(prefix, workspace, now)
  end
  settle(prefix, workspace, now)
  return fresh
end

-- While Redis is full, workspaces cannot be created, but can be changed, e.g. disconnected.
register('create_workspace', put_workspace)
register('put_workspace', put_workspace, { 'allow-oom' })

-- Reads workspaces.
-- ARGV: for each workspace, its id and the version that the caller has cached ('0' for none).
-- Returns for each workspace, in order: {version, record}; {version} when the caller has
-- cached the current version; {} when the workspace does not exist.
register('get_workspaces', function(keys, args)
  local prefix, answers = keys[1], {}
  for i = 1, #args, 2 do
    local workspace, remembered = args[i], args[i + 1]
    local answer = {}
    local version = redis.call('HGET', state_key(prefix, workspace), STATE.version)
    if version == remembered then
      answer = { version }
    else
      local record = redis.call('GET', prefix .. ':ws:' .. workspace)
      if record then answer = { version, record } end
    end
    answers[#answers + 1] = answer
  end
  return answers
end, { 'no-writes' })

-- Replaces records with records of the same workspaces whose secrets are encrypted with a different key. The
-- workspaces do not change, so their versions do not change either.
-- ARGV: for each workspace, its id, the version of the record that was read, and the new record.
-- Returns for each workspace, in order: 1, or 0 when the current version is different.
register('reseal_workspaces', function(keys, args)
  local prefix, answers = keys[1], {}
  for i = 1, #args, 3 do
    local workspace, version, record = args[i], args[i + 1], args[i + 2]
    local is_current = redis.call('HGET', state_key(prefix, workspace), STATE.version) == version
    if is_current then redis.call('SET', prefix .. ':ws:' .. workspace, record) end
    answers[#answers + 1] = is_current and 1 or 0
  end
  return answers
end)

-- Logs that events were sent. These entries are in a separate list, so that they do not displace the changes of the
-- record. ARGV: workspace, change. Returns 1 if the workspace exists, otherwise 0.
register('log_change', function(keys, args)
  if redis.call('EXISTS', state_key(keys[1], args[1])) == 0 then return 0 end
  log_change(keys[1] .. ':sends:' .. args[1], SENDS_MAX, clock(), args[2])
  return 1
end, { 'allow-oom' })

-- Deletes (erases) a workspace, its held and failed events, and its logs of deliveries and changes.
-- ARGV: workspace, index entry. Returns 1 if the workspace existed, otherwise 0.
register('delete_workspace', function(keys, args)
  local prefix = keys[1]
  local workspace, entry = unpack(args)
  redis.call('ZREM', prefix .. ':all', entry)
  redis.call('ZREM', prefix .. ':due', workspace)
  remove_from_states(prefix, workspace)
  redis.call('DEL', state_key(prefix, workspace))
  redis.call('UNLINK', held_key(prefix, workspace), prefix .. ':log:' .. workspace, prefix .. ':polls:' .. workspace,
    prefix .. ':changes:' .. workspace, prefix .. ':sends:' .. workspace, prefix .. ':tests:' .. workspace,
    prefix .. ':operators:' .. workspace, prefix .. ':tested:' .. workspace, responses_key(prefix, workspace),
    hour_key(prefix, workspace), prefix .. ':refused:' .. workspace, again_key(prefix, workspace),
    failed_keys(prefix, workspace))
  return redis.call('DEL', prefix .. ':ws:' .. workspace)
end, { 'allow-oom' })
