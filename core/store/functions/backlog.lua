-- How much waits, and what of the inbound log is given up.

local function field_of(reply, name)
  for i = 1, #reply, 2 do
    if reply[i] == name then return reply[i + 1] end
  end
end

-- The groups that follow a log: {name, the last id read, how many are not read, how many not acked}.
local function groups_of(log)
  local groups = {}
  local read = redis.pcall('XINFO', 'GROUPS', log)
  if read.err then return groups end
  for i, group in ipairs(read) do
    groups[i] = { field_of(group, 'name'), field_of(group, 'last-delivered-id'), field_of(group, 'lag'),
      field_of(group, 'pending') }
  end
  return groups
end

local function is_before(id, other)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  local otherMs, otherN = string.match(other, '^(%d+)-(%d+)$')
  if ms ~= otherMs then return tonumber(ms) < tonumber(otherMs) end
  return tonumber(n) < tonumber(otherN)
end

-- Of `trimmed` entries that have just gone from a log, from the id `from` on, how
-- many some group had not acked; all of them where there is no group. Of several
-- groups the one counts that lost most. Returns the count and the group.
local function count_lost(log, from, trimmed)
  local groups = groups_of(log)
  if #groups == 0 then return trimmed, '' end
  local left = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  local length = redis.call('XLEN', log)
  local most, loser = 0, ''
  for _, group in ipairs(groups) do
    local name, last, lag = group[1], group[2], group[3]
    local unread = 0
    -- What a group has not read is the latest: what is left, and before that what has gone.
    if not left or is_before(last, left[1]) then unread = lag and lag - length or trimmed end
    local unacked = redis.call('XPENDING', log, name, from, left and '(' .. left[1] or '+', trimmed)
    local lost = math.min(trimmed, math.max(0, unread) + #unacked)
    if lost > most then most, loser = lost, name end
  end
  return most, loser
end

-- Trims the log of inbound events by its length or by age, whole nodes at a time,
-- which is seldom. Where the log began after the last time is kept, so that what a
-- group never acked is counted once. Returns {count, group} of what was lost, or nil.
local function trim_inbound(prefix, how, threshold)
  local log = prefix .. ':in'
  local trimmed = redis.call('XTRIM', log, how, '~', threshold)
  if trimmed == 0 then return nil end
  local lost, group = count_lost(log, redis.call('GET', prefix .. ':infirst') or '-', trimmed)
  local left = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  if left then redis.call('SET', prefix .. ':infirst', left[1]) end
  return lost > 0 and { lost, group } or nil
end

-- Trims the log of inbound events to a number of bytes, counted in the stream's nodes, as
-- Redis tells their number at once: each has up to 4,096 bytes (`stream-node-max-bytes`),
-- or one entry that is larger. Asking costs as much as storing an event, so it is done when
-- a 64th of the bound was appended since, and first of all after a restart. `appended` is
-- how many bytes were appended just now. Returns what trim_inbound does.
local NODE_BYTES = 4096
local LOOKS = 64
local unseen = {}
local function trim_inbound_bytes(prefix, most, appended)
  local log = prefix .. ':in'
  unseen[prefix] = (unseen[prefix] or most) + appended
  if unseen[prefix] < most / LOOKS then return nil end
  unseen[prefix] = 0
  local bytes = field_of(redis.call('XINFO', 'STREAM', log), 'radix-tree-keys') * NODE_BYTES
  if bytes <= most then return nil end
  return trim_inbound(prefix, 'MAXLEN', digits(math.floor(redis.call('XLEN', log) * most / bytes)))
end

-- What waits in a shard. ARGV: none.
-- Returns {length of the push queue, its bytes, when its oldest event was published in ms or
-- '', mails in the outbox, inbound events in the log, then for each group of
-- followers {name, events not read, not acked, when the oldest of them arrived in ms or ''}}.
register('read_backlog', function(keys, args)
  local prefix = keys[1]
  local log = prefix .. ':in'
  local function time_of(entry)
    return entry and string.match(entry[1], '^%d+') or ''
  end
  local length = redis.call('XLEN', log)
  local pushes, bytes = queue_size(prefix)
  local answer = { pushes, bytes,
    time_of(redis.call('XRANGE', prefix .. ':push', '-', '+', 'COUNT', 1)[1]),
    redis.call('XLEN', prefix .. ':mail'), length }
  for _, group in ipairs(groups_of(log)) do
    local name, last, lag, pending = unpack(group, 1, 4)
    -- What was read comes before what was not.
    local oldest = redis.call('XPENDING', log, name, '-', '+', 1)[1]
      or redis.call('XRANGE', log, '(' .. last, '+', 'COUNT', 1)[1]
    answer[#answer + 1] = { name, lag or length, pending, time_of(oldest) }
  end
  return answer
end, { 'no-writes' })
