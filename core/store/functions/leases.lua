-- Leases: who works on a shard. Those that share the shards out among them are a
-- group (the cores, or the streams of a group of followers): each member says now
-- and then that it is alive, takes its part of the shards, and holds each by a
-- lease that runs out unless it is kept.

local function lease_key(prefix, group)
  return prefix .. ':lease:' .. group
end

local function holds_lease(prefix, group, token)
  return redis.call('GET', lease_key(prefix, group)) == token
end

-- Takes or keeps leases. ARGV: ms they last, then for each: group, token of the holder.
-- Returns for each, in order: 1 when the token holds the lease, else 0.
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

-- Gives a lease back. ARGV: group, token of the holder. Returns 1 if it held it.
register('drop_lease', function(keys, args)
  if not holds_lease(keys[1], args[1], args[2]) then return 0 end
  return redis.call('DEL', lease_key(keys[1], args[1]))
end, { 'allow-oom' })

local function alive_key(prefix, group)
  return prefix .. ':alive:' .. group
end

-- Reads all members of a group, forgets the silent ones, and keeps the names of the others
-- with what they are good for: from when until when, and for how many members. The one
-- heard of longest ago is the first that may fall silent, and not before `due`.
-- Returns the names in one text, in order, and how many they are.
local function read_alive(prefix, group, now, silent)
  local members = prefix .. ':members:' .. group
  local all, alive, oldest = redis.call('HGETALL', members), {}, now
  for i = 1, #all, 2 do
    local heard = tonumber(string.match(all[i + 1], '%d+$'))
    if math.abs(now - heard) > silent then
      redis.call('HDEL', members, all[i])
    else
      alive[#alive + 1] = all[i]
      oldest = math.min(oldest, heard)
    end
  end
  table.sort(alive)
  local names = table.concat(alive, ' ')
  local good = { digits(now), digits(oldest + silent), digits(#alive), names }
  redis.call('SET', alive_key(prefix, group), table.concat(good, ' '), 'PX', silent)
  return names, #alive
end

-- As read_alive, from what it kept as long as that is good: a beat costs the same
-- however many members there are. Other releases add and take members past what is
-- kept, which then is of another number of them.
local function find_alive(prefix, group, now, silent)
  local kept = redis.call('GET', alive_key(prefix, group)) or ''
  local from, due, count, names = string.match(kept, '^(%d+) (%d+) (%d+) (.*)$')
  local is_good = from and now >= tonumber(from) and now <= tonumber(due)
    and redis.call('HLEN', prefix .. ':members:' .. group) == tonumber(count)
  if is_good then return names, tonumber(count) end
  return read_alive(prefix, group, now, silent)
end

-- Says that a member is alive, on the shard that keeps the group's register.
-- ARGV: group, name, token, '1' while the member was not answered yet, ms since it
-- began, ms after which a silent member is gone, how many members there may be
-- ('0' for any number).
-- Returns {1, the names alive in order, with blanks between them}; {0} when the name is
-- another token's; {-1} when the group is full. A newer member takes the place of an
-- older one of its name. Which is the newer they say themselves: one whose answer was
-- lost joins again as if it were new.
register('join_group', function(keys, args)
  local prefix = keys[1]
  local group, name, token, fresh, age, silent, most = unpack(args)
  silent, most = tonumber(silent), tonumber(most)
  local members = prefix .. ':members:' .. group
  local now = clock() / 1000
  local known = redis.call('HGET', members, name)
  local heard = token .. ' ' .. age .. ' ' .. digits(now)
  if known then
    -- Libraries of other releases know no age, and read over it.
    local holder, aged, seen = string.match(known, '^(%S+) ?(%d*) (%d+)$')
    local mine = not holder or holder == token
    if not mine and fresh == '1' then
      mine = tonumber(age) <= (tonumber(aged) or math.huge) + math.max(0, now - tonumber(seen))
    end
    if not mine then return { 0 } end
    redis.call('HSET', members, name, heard)
  end
  local names, count = find_alive(prefix, group, now, silent)
  if not known then
    if most > 0 and count >= most then return { -1 } end
    redis.call('HSET', members, name, heard)
    names = read_alive(prefix, group, now, silent)
  end
  redis.call('EXPIRE', members, 3600)
  return { 1, names }
end, { 'allow-oom' })

-- Says that a member has left. ARGV: group, name, token. Returns 1 if it was there.
register('leave_group', function(keys, args)
  local group, name, token = unpack(args)
  local members = keys[1] .. ':members:' .. group
  local known = redis.call('HGET', members, name)
  if not known or string.match(known, '^%S+') ~= token then return 0 end
  redis.call('DEL', alive_key(keys[1], group))
  return redis.call('HDEL', members, name)
end, { 'allow-oom' })
