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

-- Takes or keeps a lease. ARGV: group, token of the holder, ms it lasts.
-- Returns 1 when the token holds the lease, else 0.
register('take_lease', function(keys, args)
  local key = lease_key(keys[1], args[1])
  local holder = redis.call('GET', key)
  if holder and holder ~= args[2] then return 0 end
  redis.call('SET', key, args[2], 'PX', args[3])
  return 1
end, { 'allow-oom' })

-- Gives a lease back. ARGV: group, token of the holder. Returns 1 if it held it.
register('drop_lease', function(keys, args)
  if not holds_lease(keys[1], args[1], args[2]) then return 0 end
  return redis.call('DEL', lease_key(keys[1], args[1]))
end, { 'allow-oom' })

-- Says that a member is alive, on the shard that keeps the group's register.
-- ARGV: group, name, token, '1' while the member was not answered yet, ms since it
-- began, ms after which a silent member is gone.
-- Returns {1 when the name is the token's, else 0, the names alive, in order…}. A
-- newer member takes the place of an older one of its name. Which is the newer they
-- say themselves: one whose answer was lost joins again as if it were new.
register('join_group', function(keys, args)
  local group, name, token, fresh, age, silent = unpack(args)
  local members = keys[1] .. ':members:' .. group
  local now = clock() / 1000
  local known = redis.call('HGET', members, name)
  -- Libraries of other releases know no age, and read over it.
  local holder, aged, seen = string.match(known or '', '^(%S+) ?(%d*) (%d+)$')
  local mine = not holder or holder == token
  if not mine and fresh == '1' then
    mine = tonumber(age) <= (tonumber(aged) or math.huge) + math.max(0, now - tonumber(seen))
  end
  if mine then redis.call('HSET', members, name, token .. ' ' .. age .. ' ' .. digits(now)) end
  redis.call('EXPIRE', members, 3600)
  local all, alive = redis.call('HGETALL', members), {}
  for i = 1, #all, 2 do
    local heard = tonumber(string.match(all[i + 1], '%d+$'))
    if math.abs(now - heard) > tonumber(silent) then
      redis.call('HDEL', members, all[i])
    else
      alive[#alive + 1] = all[i]
    end
  end
  table.sort(alive)
  return { mine and 1 or 0, unpack(alive) }
end, { 'allow-oom' })

-- Says that a member has left. ARGV: group, name, token. Returns 1 if it was there.
register('leave_group', function(keys, args)
  local members = keys[1] .. ':members:' .. args[1]
  local known = redis.call('HGET', members, args[2])
  if not known or string.match(known, '^%S+') ~= args[3] then return 0 end
  return redis.call('HDEL', members, args[2])
end, { 'allow-oom' })
