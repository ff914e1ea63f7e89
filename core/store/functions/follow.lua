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

-- Returns a function that says whether a workspace's next event fits in the stream's window. The
-- rule is in operations/window-share.ts. The arguments from `first` on are: the free room in the window; the number of
-- events in flight that every workspace may have while there is room; then, for each busy workspace, its id and its
-- number of events in flight, or 'waits' if its next events must wait. Without these arguments, every event fits.
local function share_of(args, first)
  if not args[first] then return function() return true end end
  local room, least, counts = tonumber(args[first]), tonumber(args[first + 1]), {}
  for i = first + 2, #args, 2 do counts[args[i]] = tonumber(args[i + 1]) or math.huge end
  return function(workspace)
    local count = counts[workspace] or 0
    if room > 0 and (count < room or count < least) then
      counts[workspace] = count + 1
      room = room - 1
      return true
    end
    counts[workspace] = math.huge
    return false
  end
end

-- Resets the attempts of parked entries to the numbers that they had before this read.
local function park(log, group, parked, attempts)
  local by_attempt = {}
  for i = 1, #parked, 2 do
    local before = (attempts[parked[i]] or 1) - 1
    by_attempt[before] = by_attempt[before] or {}
    table.insert(by_attempt[before], parked[i])
  end
  for before, ids in pairs(by_attempt) do
    local claim = { 'XCLAIM', log, group, READER, 0, unpack(ids) }
    for _, word in ipairs({ 'RETRYCOUNT', before, 'JUSTID' }) do claim[#claim + 1] = word end
    redis.call(unpack(claim))
  end
end

-- Returns two lists of the entries whose workspaces are in `scope`: the entries that fit, and a flat list of the id and
-- the workspace of each parked entry. `scope` lists the ids of the follower's workspaces in this shard, or is '*' for
-- all workspaces. Entries of other workspaces are acked.
local function deliveries(log, group, scope, entries, attempts, fits)
  local answer, parked, outside = {}, {}, {}
  for _, entry in ipairs(entries) do
    local id, workspace = entry[1], entry[2][2]
    if scope ~= '*' and not string.find(scope, workspace, 1, true) then
      outside[#outside + 1] = id
    elseif fits(workspace) then
      answer[#answer + 1] = { id, attempts[id] or 1, workspace, entry[2][4], entry[2][6] }
    else
      parked[#parked + 1] = id
      parked[#parked + 1] = workspace
    end
  end
  if #outside > 0 then redis.call('XACK', log, group, unpack(outside)) end
  if #parked > 0 then park(log, group, parked, attempts) end
  return answer, parked
end

-- Reads events that the group has never read. ARGV: group, token of the lease, scope (see
-- deliveries), count; then the share of the window, if the window is shared (see share_of). Returns
-- false when the token does not hold the lease, otherwise {number of events read; list of {entry
-- id, attempt, workspace, event, traceparent} for the events in the scope that fit; the parked
-- events (see deliveries), whose attempt stays 0}. The traceparent is absent when the event is not
-- traced.
register('read_new', function(keys, args)
  local prefix = keys[1]
  local group, token, scope, count = unpack(args, 1, 4)
  if not holds_lease(prefix, group, token) then return false end
  local entries = read_group(prefix .. ':in', group, count)
  return { #entries, deliveries(prefix .. ':in', group, scope, entries, {}, share_of(args, 5)) }
end, { 'allow-oom' })

-- Reads events that the group has read but not acked, and increments the attempt of each that is
-- not parked. ARGV: group, token of the lease, scope (see deliveries), count, the entry id to start
-- after ('-' to start at the first entry); then the share of the window as in read_new. If the
-- count is 0, entry ids follow instead of the share: only these entries are read, and none is parked.
-- Returns false when the token does not hold the lease, otherwise {id of the last pending entry
-- that was found, or '' for none; then the two lists of events as in read_new}. Entries that are no
-- longer in the log are skipped.
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
  if count == '0' then
    for i = 6, #args do add(args[i], args[i], 1) end
  else
    add(after == '-' and '-' or '(' .. after, '+', count)
  end
  if #ids == 0 then return { '' } end
  local entries = redis.call('XCLAIM', log, group, READER, 0, unpack(ids))
  local fits = share_of(count == '0' and {} or args, 6)
  return { ids[#ids], deliveries(log, group, scope, entries, attempts, fits) }
end, { 'allow-oom' })

-- Acks events. ARGV: group, then entry ids. Returns the number of entries that were pending.
register('ack', function(keys, args)
  return redis.call('XACK', keys[1] .. ':in', args[1], unpack(args, 2))
end, { 'allow-oom' })

local read_dead_letter_state = state_reader('dead_lettered_ms')

-- Acks an event that a game has dropped. Adds an operator event, unless one of this type was added for the workspace in
-- the last OPERATOR_EVENT_EVERY_MS. ARGV: group, entry id, workspace, attempt, reason. Returns the number of entries
-- that were pending: 0 or 1.
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
