-- Functions for game services that follow the inbound log. In each group, one stream at a
-- time reads a shard of the log: the holder of the group's lease on the shard. So the events
-- of a workspace go to one stream, in order. All streams of a group use the same Redis
-- consumer, so the next holder takes over the list of pending entries unchanged.
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

local function deliveries(entries, attempts)
  local answer = {}
  for i, entry in ipairs(entries) do
    answer[i] = { entry[1], attempts[entry[1]] or 1, entry[2][2], entry[2][4] }
  end
  return answer
end

-- Creates a group that starts at the end of the log, unless the group exists. ARGV: group.
-- Returns 1.
register('open_group', function(keys, args)
  local log = keys[1] .. ':in'
  local info = redis.pcall('XINFO', 'STREAM', log)
  -- Without ENTRIESREAD, Redis could not compute the group's lag before the first read.
  local made = redis.pcall('XGROUP', 'CREATE', log, args[1], '$', 'MKSTREAM', 'ENTRIESREAD',
    info.err and 0 or field_of(info, 'entries-added'))
  if type(made) == 'table' and made.err and not string.find(made.err, 'BUSYGROUP', 1, true) then error(made) end
  return 1
end)

-- Reads events that the group has never read. ARGV: group, token of the lease, count.
-- Returns false when the token does not hold the lease, else {entry id, attempt, workspace,
-- event} for each event.
register('read_new', function(keys, args)
  local prefix = keys[1]
  local group, token, count = unpack(args)
  if not holds_lease(prefix, group, token) then return false end
  return deliveries(read_group(prefix .. ':in', group, count), {})
end)

-- Reads events that the group has read but not acked, and increments the attempt of each.
-- ARGV: group, token of the lease, count, the entry id to start after ('-' to start at the
-- first entry). If entry ids follow, only these entries are read.
-- Returns false when the token does not hold the lease, else {id of the last pending entry
-- that was found, or '' for none; then the events as in read_new}. Entries that are no longer
-- in the log are skipped.
register('read_again', function(keys, args)
  local prefix = keys[1]
  local log = prefix .. ':in'
  local group, token, count, after = unpack(args, 1, 4)
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
  if #args > 4 then
    for i = 5, #args do add(args[i], args[i], 1) end
  else
    add(after == '-' and '-' or '(' .. after, '+', count)
  end
  if #ids == 0 then return { '' } end
  return { ids[#ids], unpack(deliveries(redis.call('XCLAIM', log, group, READER, 0, unpack(ids)), attempts)) }
end)

-- Acks events. ARGV: group, then entry ids. Returns the number of entries that were pending.
register('ack', function(keys, args)
  return redis.call('XACK', keys[1] .. ':in', args[1], unpack(args, 2))
end, { 'allow-oom' })
