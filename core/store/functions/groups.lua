-- The registry of all groups of followers (consumer groups). Functions whose comments begin with "Registry:" take the
-- prefix of shard 0, whose slot contains the registry. The other functions take the prefix of any shard. A group is
-- removed in three steps, because its logs and members are in other slots: begin_removal marks the group in the
-- registry; the caller then counts the group's members and destroys the group in each log; end_removal deletes the
-- mark.
--
-- A stream joins its group before it registers the group. So if a stream opens the group
-- during a removal, there are two cases. Either the caller finds the new member, and keeps the
-- group; or register_group finds the mark, and assigns a new `made`. In the second case,
-- drop_group ignores the group in each log that the stream has opened.

-- Stands for the token of a group that was opened before tokens were recorded. No token has this name.
local UNKNOWN_TOKEN = '?'

-- Parses an entry of the registry: the token that opened the group first; the time when the group was made; the time
-- when it last had a member; and the time of the mark, or 0. Times are in µs.
local function to_group(text)
  local token, made, seen, marked = string.match(text, '^(%S+) (%d+) (%d+) (%d+)$')
  return { token = token, made = tonumber(made), seen = tonumber(seen), marked = tonumber(marked) }
end

local function find_group(prefix, name)
  local text = redis.call('HGET', prefix .. ':groups', name)
  return text and to_group(text)
end

local function put_group(prefix, name, group)
  redis.call('HSET', prefix .. ':groups', name,
    table.concat({ group.token, digits(group.made), digits(group.seen), digits(group.marked) }, ' '))
end

local function is_in_log(prefix, name)
  for _, group in ipairs(groups_of(prefix .. ':in')) do
    if group[1] == name then return true end
  end
  return false
end

-- Returns which bound a new group would exceed: 0 for the maximum of the token, -1 for the maximum of all groups, or
-- nil for neither.
local function find_full(prefix, name, token, share, most)
  local all, own = 0, 0
  local groups = redis.call('HGETALL', prefix .. ':groups')
  for i = 1, #groups, 2 do
    if groups[i] ~= name then
      all = all + 1
      if to_group(groups[i + 1]).token == token then own = own + 1 end
    end
  end
  if own >= share then return 0 end
  if all >= most then return -1 end
end

-- Registry: adds a group, unless the registry already contains it. ARGV: group; name of the
-- token; maximum number of groups of this token; maximum number of all groups.
-- Returns {1, `made` of the group}, or {0} or {-1} as find_full does. A group that is already
-- in the log was opened by an older release, and is always added.
register('register_group', function(keys, args)
  local prefix = keys[1]
  local name, token, share, most = unpack(args)
  local now = clock()
  local known = find_group(prefix, name)
  if known and known.marked == 0 then
    if known.token == UNKNOWN_TOKEN then known.token = token end
    known.seen = now
    put_group(prefix, name, known)
    return { 1, digits(known.made) }
  end
  local full = find_full(prefix, name, token, tonumber(share), tonumber(most))
  if full and (known or not is_in_log(prefix, name)) then return { full } end
  put_group(prefix, name, { token = token, made = now, seen = now, marked = 0 })
  return { 1, digits(now) }
end, { 'allow-oom' })

-- Registry: ARGV: none. Returns all groups, each as {name, token or '', ms when the group last
-- had a member}.
register('list_groups', function(keys, args)
  local groups, answer = redis.call('HGETALL', keys[1] .. ':groups'), {}
  for i = 1, #groups, 2 do
    local group = to_group(groups[i + 1])
    local token = group.token ~= UNKNOWN_TOKEN and group.token or ''
    answer[#answer + 1] = { groups[i], token, digits(group.seen / 1000) }
  end
  return answer
end, { 'no-writes' })

-- Registry: adds groups that were found in a log. ARGV: groups. Returns 1.
register('adopt_groups', function(keys, args)
  local now = clock()
  for _, name in ipairs(args) do
    if not find_group(keys[1], name) then
      put_group(keys[1], name, { token = UNKNOWN_TOKEN, made = now, seen = now, marked = 0 })
    end
  end
  return 1
end, { 'allow-oom' })

-- Registry: records that groups have members. ARGV: groups. Returns 1.
register('touch_groups', function(keys, args)
  for _, name in ipairs(args) do
    local group = find_group(keys[1], name)
    if group and group.marked == 0 then
      group.seen = clock()
      put_group(keys[1], name, group)
    end
  end
  return 1
end, { 'allow-oom' })

-- Registry: marks a group for removal. ARGV: group; ms for which the group must have had no
-- member. Returns {time of the mark, 1 if the group had no member for this time, otherwise 0}. The second value is 0
-- only when another call has already marked the group. Returns {} when the registry does not contain the group, or when
-- the group is not marked and had a member within this time.
register('begin_removal', function(keys, args)
  local group = find_group(keys[1], args[1])
  if not group then return {} end
  local is_idle = clock() - group.seen >= tonumber(args[2]) * 1000
  if group.marked == 0 then
    if not is_idle then return {} end
    group.marked = clock()
    put_group(keys[1], args[1], group)
  end
  return { digits(group.marked), is_idle and 1 or 0 }
end, { 'allow-oom' })

-- Registry: ends a removal. ARGV: group; time of the mark; '1' to keep the group, because it
-- has members. Does nothing when another call has already ended this removal. Returns 1.
register('end_removal', function(keys, args)
  local name, marked, keep = unpack(args)
  local group = find_group(keys[1], name)
  if not group or digits(group.marked) ~= marked then return 1 end
  if keep == '1' then
    -- The new `made` protects streams that are still opening the group from another caller
    -- that found the same mark.
    local now = clock()
    put_group(keys[1], name, { token = group.token, made = now, seen = now, marked = 0 })
  else
    redis.call('HDEL', keys[1] .. ':groups', name)
  end
  return 1
end, { 'allow-oom' })

-- Returns the names of the groups in the shard's log. ARGV: none.
register('group_names', function(keys, args)
  local names = {}
  for i, group in ipairs(groups_of(keys[1] .. ':in')) do names[i] = group[1] end
  return names
end, { 'no-writes' })

-- Counts the live members of groups whose members the shard stores. ARGV: ms after which a
-- silent member does not count; groups. Returns the numbers, in order.
register('count_members', function(keys, args)
  local now, silent, counts = clock() / 1000, tonumber(args[1]), {}
  for i = 2, #args do
    local count = 0
    for _, heard in ipairs(redis.call('HVALS', keys[1] .. ':members:' .. args[i])) do
      if math.abs(now - tonumber(string.match(heard, '%d+$'))) <= silent then count = count + 1 end
    end
    counts[i - 1] = count
  end
  return counts
end, { 'no-writes' })

-- Creates a group in the shard's log, unless the log already contains the group. The group
-- starts at the end of the log. ARGV: group, `made` of the group. Returns 1.
register('open_group', function(keys, args)
  local name, made = unpack(args)
  local log = keys[1] .. ':in'
  local info = redis.pcall('XINFO', 'STREAM', log)
  -- Without ENTRIESREAD, Redis could not compute the group's lag before the first read.
  local created = redis.pcall('XGROUP', 'CREATE', log, name, '$', 'MKSTREAM', 'ENTRIESREAD',
    info.err and 0 or field_of(info, 'entries-added'))
  if type(created) == 'table' and created.err and not string.find(created.err, 'BUSYGROUP', 1, true) then
    error(created)
  end
  local known = tonumber(redis.call('HGET', keys[1] .. ':made', name) or 0)
  if known < tonumber(made) then redis.call('HSET', keys[1] .. ':made', name, made) end
  return 1
end, { 'allow-oom' })

-- Destroys a group in the shard's log, unless the group was opened again after the mark.
-- ARGV: group, time of the mark. Returns 1.
register('drop_group', function(keys, args)
  local name, marked = unpack(args)
  local made = tonumber(redis.call('HGET', keys[1] .. ':made', name) or 0)
  if made > tonumber(marked) then return 1 end
  -- The log does not exist before the first event.
  redis.pcall('XGROUP', 'DESTROY', keys[1] .. ':in', name)
  redis.call('HDEL', keys[1] .. ':made', name)
  return 1
end, { 'allow-oom' })
