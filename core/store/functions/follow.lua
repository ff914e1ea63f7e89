-- Functions for game services that follow the inbound log. A group is a consumer group of a
-- Redis stream, and delivery is at least once. In each group, one stream at a time reads a shard
-- of the log: the holder of the group's lease on the shard. So the events of a workspace go to
-- one stream, in order. All streams of a group use the same Redis consumer, so the next holder
-- takes over the list of pending entries unchanged.
local READER = 'reader'

-- Reads new entries for a group. If Redis restarted empty and lost the group, the function
-- creates the group again. The new group starts with the first entry, because all entries in
-- the log arrived after the restart.
local function read_group(log, group, count)
  local read = redis.pcall('XREADGROUP', 'GROUP', group, READER, 'COUNT', count, 'STREAMS', log, '>')
  if type(read) == 'table' and read.err and string.find(read.err, 'NOGROUP', 1, true) then
    redis.call('XGROUP', 'CREATE', log, group, '0', 'MKSTREAM')
    read = redis.call('XREADGROUP', 'GROUP', group, READER, 'COUNT', count, 'STREAMS', log, '>')
  end
  if type(read) == 'table' and read.err then error(read) end
  return read and read[1] and read[1][2] or {}
end

-- Returns the entries of the workspaces in `scope`. `scope` lists the ids of the follower's
-- workspaces in this shard, or is '*' for all workspaces. The other entries are acked.
local function deliveries(log, group, scope, entries, attempts)
  local answer, outside = {}, {}
  for _, entry in ipairs(entries) do
    local id, workspace = entry[1], entry[2][2]
    if scope == '*' or string.find(scope, workspace, 1, true) then
      answer[#answer + 1] = { id, attempts[id] or 1, workspace, entry[2][4], entry[2][6] }
    else
      outside[#outside + 1] = id
    end
  end
  if #outside > 0 then redis.call('XACK', log, group, unpack(outside)) end
  return answer
end

-- Reads events that the group has never read. ARGV: group, token of the lease, scope (see
-- deliveries), count. Returns false when the token does not hold the lease, otherwise {number of events read; then
-- {entry id, attempt, workspace, event, traceparent} for each event in the scope}. The traceparent is absent when the
-- event is not traced.
register('read_new', function(keys, args)
  local prefix = keys[1]
  local group, token, scope, count = unpack(args)
  if not holds_lease(prefix, group, token) then return false end
  local entries = read_group(prefix .. ':in', group, count)
  return { #entries, unpack(deliveries(prefix .. ':in', group, scope, entries, {})) }
end, { 'allow-oom' })

-- Reads events that the group has read but not acked, and increments the attempt of each.
-- ARGV: group, token of the lease, scope (see deliveries), count, the entry id to start after
-- ('-' to start at the first entry). If entry ids follow, only these entries are read.
-- Returns false when the token does not hold the lease, otherwise {id of the last pending entry that was found, or ''
-- for none; then the events as in read_new}. Entries that are no longer in the log are skipped.
register('read_again', function(keys, args)
  local prefix = keys[1]
  local log = prefix .. ':in'
  local group, token, scope, count, after = unpack(args, 1, 5)
  if not holds_lease(prefix, group, token) then return false end
  local ids, attempts = {}, {}
  local function add(from, to, most)
    local pending = redis.pcall('XPENDING', log, group, from, to, most)
    if pending.err then
      if string.find(pending.err, 'NOGROUP', 1, true) then return end
      error(pending)
    end
    for _, entry in ipairs(pending) do
      ids[#ids + 1] = entry[1]
      attempts[entry[1]] = entry[4] + 1
    end
  end
  if #args > 5 then
    for i = 6, #args do add(args[i], args[i], 1) end
  else
    add(after == '-' and '-' or '(' .. after, '+', count)
  end
  if #ids == 0 then return { '' } end
  local entries = redis.call('XCLAIM', log, group, READER, 0, unpack(ids))
  return { ids[#ids], unpack(deliveries(log, group, scope, entries, attempts)) }
end, { 'allow-oom' })

-- Acks events. ARGV: group, then entry ids. Returns the number of entries that were pending.
register('ack', function(keys, args)
  return redis.call('XACK', keys[1] .. ':in', args[1], unpack(args, 2))
end, { 'allow-oom' })

local read_dead_letter_state = state_reader('dead_lettered_ms')

-- Acks an event that a game has given up, and adds an operator event if none of this type was added for the workspace in
-- the last OPERATOR_EVENT_EVERY_MS. ARGV: group, entry id, workspace, attempt, reason. Returns the number of entries that
-- were pending: 0 or 1.
register('dead_letter', function(keys, args)
  local prefix = keys[1]
  local group, entry, workspace, attempt, reason = unpack(args)
  if redis.call('XACK', prefix .. ':in', group, entry) == 0 then return 0 end
  local now, reported = math.floor(clock() / 1000), read_dead_letter_state(prefix, workspace).dead_lettered_ms or 0
  if now - reported < OPERATOR_EVENT_EVERY_MS or redis.call('EXISTS', state_key(prefix, workspace)) == 0 then return 1 end
  redis.call('HSET', state_key(prefix, workspace), STATE.dead_lettered_ms, digits(now))
  add_operator_event(prefix, workspace, 'event.dead_lettered',
    { group = group, attempt = tonumber(attempt), reason = reason, since = now })
  return 1
end, { 'allow-oom' })
