-- Shared by all functions of the library. A function takes one key, the prefix of a
-- shard with its hash tag ("cb:{s7}"), and makes the names of the shard's keys from it as
-- keys.ts does; all of them are in that key's slot. Where all keys are on one server, a
-- call may take several prefixes, each with arguments of its own, and answers a list: what
-- the function answers for each.
--
-- Arguments ("ARGV" in the head of each function) travel as one, each behind its
-- length in four bytes: a batch has hundreds, and one is cheaper to send and read. Long
-- texts ("bodies") travel separately, behind the packed arguments of all shards, because Lua
-- hashes every byte of a string that it makes. `next_body()` returns the next body.
local function unpack_fields(packed)
  local fields, count, at = {}, 0, 1
  local size = #packed
  while at <= size do
    count = count + 1
    fields[count], at = struct.unpack('<I4c0', packed, at)
  end
  return fields
end

local function pack_fields(fields)
  for i, field in ipairs(fields) do fields[i] = struct.pack('<I4c0', #field, field) end
  return table.concat(fields)
end

-- The time of the running call, once `clock` has read it.
local called_at

-- Flags: 'no-writes'; or 'allow-oom' for what has to work on when the memory is full,
-- as it frees some or keeps whoever does at work.
local function register(name, callback, flags)
  redis.register_function({
    function_name = name .. '_@V@',
    flags = flags or {},
    callback = function(keys, args)
      called_at = nil
      local body = #keys
      local function next_body()
        body = body + 1
        return args[body]
      end
      if #keys == 1 then return callback(keys, unpack_fields(args[1]), next_body) end
      local answers = {}
      for i, key in ipairs(keys) do answers[i] = callback({ key }, unpack_fields(args[i]), next_body) end
      return answers
    end,
  })
end

local MICROSECONDS = 1000000
local HOLD_US = 86400 * MICROSECONDS

-- The Redis clock in microseconds. It stands still while a function runs.
local function clock()
  if not called_at then
    local time = redis.call('TIME')
    called_at = tonumber(time[1]) * MICROSECONDS + tonumber(time[2])
  end
  return called_at
end

-- Integers up to 2^53 as digits; tostring would turn to 1e+15. What is an argument of
-- redis.call may stay a number, which Redis writes with all its digits.
local function digits(number)
  return string.format('%d', number)
end

-- Writes what a restart or a failover may lose: it goes neither into the append-only file
-- nor to replicas, and no answer waits for the disk because of it.
local function write_unlogged(write)
  redis.set_repl(redis.REPL_NONE)
  write()
  redis.set_repl(redis.REPL_ALL)
end

-- The limiters of one call. `admit(key, limit)` lets a request through (0) or says how many
-- microseconds it would have to wait; `write()` stores what was let through, at the end.
--
-- A limiter's list holds when the last requests were let through, oldest first, at most
-- `limit` of them: a request passes when the one `limit` before it is a whole second old.
-- So no window of one second, wherever it starts, holds more than `limit`, and refused
-- requests leave no trace. Each list is read and written once a call, and is not logged:
-- limits begin again after a restart.
--
-- A list whose newest time is a second old says nothing any more; without the bound on
-- such times, a bridge that polls every few seconds would have a full list.
local STALE_MAX = 16
local LIMITER_LEAST_MS = 2000
local LIMITER_MS = 10000

local function read_limiter(key, now)
  local count = redis.call('LLEN', key)
  local newest = count > 0 and tonumber(redis.call('LINDEX', key, -1)) or 0
  -- A clock that stepped back by more than a second makes the list useless: keeping to it
  -- would refuse everyone until the clock has caught up.
  local isOver = newest > now + MICROSECONDS or (count >= STALE_MAX and newest <= now - MICROSECONDS)
  -- After a smaller step, time stands still until the clock has caught up.
  return { now = math.max(now, isOver and 0 or newest), isOver = isOver, count = isOver and 0 or count,
    popped = 0, pushed = 0 }
end

local function new_limiters(now)
  local limiters = {}

  local function admit(key, limit)
    local limiter = limiters[key] or read_limiter(key, now)
    limiters[key] = limiter
    if limiter.count - limiter.popped + limiter.pushed >= limit then
      local oldest = limiter.popped < limiter.count and tonumber(redis.call('LINDEX', key, limiter.popped)) or limiter.now
      local wait = oldest + MICROSECONDS - limiter.now
      if wait > 0 then return wait end
      limiter.popped = limiter.popped + 1
    end
    limiter.pushed = limiter.pushed + 1
    return 0
  end

  local function write()
    write_unlogged(function()
      for key, limiter in pairs(limiters) do
        if limiter.isOver then redis.call('DEL', key) end
        if limiter.popped > 0 then redis.call('LPOP', key, limiter.popped) end
        if limiter.pushed > 0 then
          local time, times = digits(limiter.now), {}
          for i = 1, limiter.pushed do times[i] = time end
          redis.call('RPUSH', key, unpack(times))
          if redis.call('PTTL', key) < LIMITER_LEAST_MS then redis.call('PEXPIRE', key, LIMITER_MS) end
        end
      end
    end)
  end

  return { admit = admit, write = write }
end

-- How long the push queue is, and how many bytes its events have. They are counted beside
-- it, as reading them would take long; a count that was lost is right again as soon as the
-- queue is empty.
local function queue_size(prefix)
  local length = redis.call('XLEN', prefix .. ':push')
  return length, length > 0 and tonumber(redis.call('GET', prefix .. ':pushbytes') or 0) or 0
end

local function set_queue_bytes(prefix, bytes)
  if bytes > 0 then redis.call('SET', prefix .. ':pushbytes', digits(bytes))
  else redis.call('DEL', prefix .. ':pushbytes') end
end

-- Keeps an expiry at least `seconds` ahead, writing it once an hour at most.
local function outlive(key, seconds)
  if redis.call('PTTL', key) < seconds * 1000 then redis.call('EXPIRE', key, seconds + 3600) end
end
