-- Leases decide which member of a group works on a shard. The members of a group are either all
-- cores, or all streams of one group of followers. Each member regularly reports that it is
-- alive (a heartbeat), and acquires leases on its share of the shards. A lease expires unless it
-- is renewed. There is no leader and no election. A lease is a distributed lock with a fencing
-- token: the functions that read events or record outcomes check the token.

-- The group of all cores. No group of followers can have this name.
local CORES = '!cores'

local function lease_key(prefix, group)
  return prefix .. ':lease:' .. group
end

local function holds_lease(prefix, group, token)
  return redis.call('GET', lease_key(prefix, group)) == token
end

-- Acquires or renews leases. ARGV: ms until the leases expire, then for each lease: group,
-- token of the holder.
-- Returns for each lease, in order: 1 when the token now holds the lease, otherwise 0.
register('take_lease', function(keys, args)
  local answers = {}
  for i = 2, #args, 2 do
    local key, token = lease_key(keys[1], args[i]), args[i + 1]
    local holder = redis.call('GET', key)
    local isFree = not holder or holder == token
    if isFree then redis.call('SET', key, token, 'PX', args[1]) end
    answers[#answers + 1] = isFree and 1 or 0
  end
  return answers
end, { 'allow-oom' })

-- Releases a lease. ARGV: group, token of the holder. Returns 1 if the token held the lease, otherwise 0.
register('drop_lease', function(keys, args)
  if not holds_lease(keys[1], args[1], args[2]) then return 0 end
  return redis.call('DEL', lease_key(keys[1], args[1]))
end, { 'allow-oom' })

-- The number of the rule by which members share the shards: see core/leases/owners.ts. In
-- `:members`, each member's token is followed by this number. Older releases, which use rule 1, do
-- not write a number. All members use the lowest rule of the live members. With two rules at the
-- same time, a shard could have no owner.
local RULE = ':2'

-- The cache of older releases has the key ":alive:", and does not contain the rule.
local function live_key(prefix, group)
  return prefix .. ':live:' .. group
end

-- Reads all members of a group, removes members that have not reported for `silent` ms, and
-- caches the names of the live members. The cache entry is valid from now until the first live
-- member could become silent, unless the number of members changes.
-- Returns the names in order, separated by spaces, the number of names, and the lowest rule.
local function read_alive(prefix, group, now, silent)
  local members = prefix .. ':members:' .. group
  local all, alive, oldest, rule = redis.call('HGETALL', members), {}, now, 2
  for i = 1, #all, 2 do
    local heard = tonumber(string.match(all[i + 1], '%d+$'))
    if math.abs(now - heard) > silent then
      redis.call('HDEL', members, all[i])
    else
      alive[#alive + 1] = all[i]
      oldest = math.min(oldest, heard)
      if not string.find(all[i + 1], '^%S+' .. RULE .. ' ') then rule = 1 end
    end
  end
  table.sort(alive)
  local names = table.concat(alive, ' ')
  local good = { digits(now), digits(oldest + silent), digits(#alive), digits(rule), names }
  redis.call('SET', live_key(prefix, group), table.concat(good, ' '), 'PX', silent)
  return names, #alive, rule
end

-- Returns the same values as read_alive, but uses the cache entry while the entry is valid. So
-- a join costs the same for any number of members. Older releases add and remove members
-- without updating the cache. The number of members then differs from the number in the entry,
-- so the entry is not used.
local function find_alive(prefix, group, now, silent)
  local kept = redis.call('GET', live_key(prefix, group)) or ''
  local from, due, count, rule, names = string.match(kept, '^(%d+) (%d+) (%d+) (%d+) (.*)$')
  local is_good = from and now >= tonumber(from) and now <= tonumber(due)
    and redis.call('HLEN', prefix .. ':members:' .. group) == tonumber(count)
  if is_good then return names, tonumber(count), tonumber(rule) end
  return read_alive(prefix, group, now, silent)
end

-- Adds a member to a group, or records that the member is alive. The prefix belongs to the
-- shard that stores the members of the group.
-- ARGV: group; name; token; '1' until the member has received an answer; ms since the member
-- entered the group; ms after which a silent member is removed; maximum number of members
-- ('0' for no maximum).
-- Returns:
-- - {lowest rule of the live members, names of the live members in order, separated by spaces}
-- - {0} when the name belongs to another token
-- - {-1} when the group is full
-- A newer member replaces an older member of the same name. The reported ages determine which
-- member is newer. The '1' alone cannot determine this, because a member whose first answer
-- was lost sends '1' again.
register('join_group', function(keys, args)
  local prefix = keys[1]
  local group, name, token, fresh, age, silent, most = unpack(args)
  silent, most = tonumber(silent), tonumber(most)
  local members = prefix .. ':members:' .. group
  local now = clock() / 1000
  local known = redis.call('HGET', members, name)
  local mark = token .. RULE
  local heard = mark .. ' ' .. age .. ' ' .. digits(now)
  if known then
    -- Older releases do not write an age, and ignore the ages that newer releases write.
    local holder, aged, seen = string.match(known, '^(%S+) ?(%d*) (%d+)$')
    local mine = not holder or holder == mark
    if not mine and fresh == '1' then
      mine = tonumber(age) <= (tonumber(aged) or math.huge) + math.max(0, now - tonumber(seen))
    end
    if not mine then return { 0 } end
    redis.call('HSET', members, name, heard)
  end
  local names, count, rule = find_alive(prefix, group, now, silent)
  if not known then
    if most > 0 and count >= most then return { -1 } end
    redis.call('HSET', members, name, heard)
    names, count, rule = read_alive(prefix, group, now, silent)
  end
  redis.call('EXPIRE', members, 3600)
  return { rule, names }
end, { 'allow-oom' })

-- Removes a member from its group. ARGV: group, name, token. Returns 1 if the group contained the member, otherwise 0.
register('leave_group', function(keys, args)
  local group, name, token = unpack(args)
  local members = keys[1] .. ':members:' .. group
  local known = redis.call('HGET', members, name)
  if not known or string.match(known, '^%S+') ~= token .. RULE then return 0 end
  redis.call('DEL', live_key(keys[1], group))
  return redis.call('HDEL', members, name)
end, { 'allow-oom' })
