-- Sealed entries: the sessions and sign-in links of the dashboard. An edge encrypts each entry with
-- a key that only the browser's cookie, or the link, can produce. So neither core nor a copy of
-- Redis contains a token. All entries are in the slot of shard 0, because their number is bounded for
-- all edges together.
--
-- An entry is a hash with the sealed bytes (`d`), the time in ms when it ends (`e`), and the name of its token (`o`).
-- The key expires with the entry. The sorted set `:sealed:<kind>` contains '<token> <id>' for each entry, ordered by
-- the time of its last use in µs.

do

local function sealed_key(prefix, kind, id)
  return prefix .. ':sealed:' .. kind .. ':' .. id
end

local function read_sealed(key)
  local entry = redis.call('HMGET', key, 'd', 'e', 'o')
  if entry[1] then return { sealed = entry[1], ends = entry[2], owner = entry[3] } end
end

-- Returns the number of all entries, the number of the owner's entries, and the owner's least recently used entry.
local function count_sealed(index, owner)
  local members, own, oldest = redis.call('ZRANGE', index, 0, -1), 0, nil
  local head = owner .. ' '
  for _, member in ipairs(members) do
    if string.sub(member, 1, #head) == head then
      own = own + 1
      oldest = oldest or string.sub(member, #head + 1)
    end
  end
  return #members, own, oldest
end

-- Removes expired entries from the index.
local function forget_expired(prefix, kind, index)
  for _, member in ipairs(redis.call('ZRANGE', index, 0, -1)) do
    local id = string.match(member, '%S+$')
    if redis.call('EXISTS', sealed_key(prefix, kind, id)) == 0 then redis.call('ZREM', index, member) end
  end
end

-- Stores an entry. ARGV: kind; id; sealed bytes; name of the token; maximum number of entries of this token; maximum
-- number of all entries; ms until an unused entry expires; ms until the entry expires.
-- Returns {end in ms, id of the removed entry or ''}, or {} when the entries of other tokens leave no room.
register('put_sealed', function(keys, args)
  local prefix = keys[1]
  local kind, id, sealed, owner, share, most, idle, life = unpack(args)
  share, most, idle, life = tonumber(share), tonumber(most), tonumber(idle), tonumber(life)
  local index, now = prefix .. ':sealed:' .. kind, clock()
  redis.call('ZREMRANGEBYSCORE', index, '-inf', digits(now - idle * 1000))
  local all, own, oldest = count_sealed(index, owner)
  if own >= share or all >= most then
    forget_expired(prefix, kind, index)
    all, own, oldest = count_sealed(index, owner)
  end
  local removed = ''
  if own >= share or all >= most then
    if not oldest then return {} end
    removed = oldest
    redis.call('DEL', sealed_key(prefix, kind, removed))
    redis.call('ZREM', index, owner .. ' ' .. removed)
  end
  local key, ends = sealed_key(prefix, kind, id), digits(now / 1000 + life)
  redis.call('HSET', key, 'd', sealed, 'e', ends, 'o', owner)
  redis.call('PEXPIRE', key, math.min(idle, life))
  redis.call('ZADD', index, digits(now), owner .. ' ' .. id)
  redis.call('PEXPIRE', index, life)
  return { ends, removed }
end, { 'allow-oom' })

-- Reads an entry. ARGV: kind; id; '1' if the call counts as use; ms until an unused entry expires.
-- Returns {sealed bytes, end in ms}, or {} when there is no such entry.
register('read_sealed', function(keys, args)
  local prefix = keys[1]
  local kind, id, is_use, idle = unpack(args)
  local key, now = sealed_key(prefix, kind, id), clock()
  local entry = read_sealed(key)
  if not entry then return {} end
  if is_use == '1' then
    redis.call('PEXPIRE', key, math.max(1, math.min(tonumber(idle), math.ceil(entry.ends - now / 1000))))
    redis.call('ZADD', prefix .. ':sealed:' .. kind, digits(now), entry.owner .. ' ' .. id)
  end
  return { entry.sealed, entry.ends }
end, { 'allow-oom' })

-- Removes an entry. ARGV: kind; id. Returns the same as read_sealed.
register('take_sealed', function(keys, args)
  local kind, id = unpack(args)
  local key = sealed_key(keys[1], kind, id)
  local entry = read_sealed(key)
  if not entry then return {} end
  redis.call('DEL', key)
  redis.call('ZREM', keys[1] .. ':sealed:' .. kind, entry.owner .. ' ' .. id)
  return { entry.sealed, entry.ends }
end, { 'allow-oom' })

end
