-- The backlog of a shard: its queues, and the groups that follow its inbound log.

local function field_of(reply, name)
  for i = 1, #reply, 2 do
    if reply[i] == name then return reply[i + 1] end
  end
end

-- Returns the groups that follow a log, each as {name, last id read, number of unread entries,
-- number of entries read but not acked}.
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

-- Counts the lost entries after `trimmed` entries were removed from the beginning of a log. No
-- removed entry has an id below `from`. A removed entry counts as lost if any group had not acked it. If there are
-- several groups, only the losses of the group that lost the most are counted. If there is no group, all removed
-- entries are lost. `groups` are the groups before the removal. From Redis 8 on, the lag of a group no longer includes
-- removed entries. Returns the count and the group ('' for none).
local function count_lost(log, from, trimmed, groups)
  if #groups == 0 then return trimmed, '' end
  local left = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  local length = redis.call('XLEN', log)
  local most, loser = 0, ''
  for _, group in ipairs(groups) do
    local name, last, lag = group[1], group[2], group[3]
    local unread = 0
    -- If the group has not read the first remaining entry, it has read none of the remaining entries. Any further
    -- unread entries were removed from the log.
    if not left or is_before(last, left[1]) then unread = lag and lag - length or trimmed end
    local unacked = redis.call('XPENDING', log, name, from, left and '(' .. left[1] or '+', trimmed)
    local lost = math.min(trimmed, math.max(0, unread) + #unacked)
    if lost > most then most, loser = lost, name end
  end
  return most, loser
end

-- Reads the backlog of a shard. ARGV: none.
-- Returns {length of the push queue, bytes of the push queue, publication time of the oldest
-- queued event, number of emails in the outbox, number of events in the inbound log, number of
-- operator events in the outbox, then the groups}. Each group of followers is {name, number of unread events, number of events read
-- but not acked, arrival time of the oldest unread or unacked event}. Times are in ms, or ''
-- for none.
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
    redis.call('XLEN', prefix .. ':mail'), length, redis.call('XLEN', prefix .. ':operator') }
  for i, group in ipairs(groups_of(log)) do
    -- More groups exist only if an older release, which did not limit their number, opened them.
    if i > @GROUPS_MAX@ then break end
    local name, last, lag, pending = unpack(group, 1, 4)
    -- Entries that were read are older than unread entries.
    local oldest = redis.call('XPENDING', log, name, '-', '+', 1)[1]
      or redis.call('XRANGE', log, '(' .. last, '+', 'COUNT', 1)[1]
    answer[#answer + 1] = { name, lag or length, pending, time_of(oldest) }
  end
  return answer
end, { 'no-writes' })
