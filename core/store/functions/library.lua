-- The code that all functions of the library share. A function takes one key: the prefix of a
-- shard with its hash tag, e.g. "cb:{s7}". The function derives the shard's keys from the
-- prefix as keys.ts does, so all keys of a shard are in one slot. If all shards are on one
-- server, one call may be for several shards. The call then takes one prefix per shard, each
-- with its own arguments, and returns a list with one answer per prefix.
--
-- The arguments of a shard ("ARGV" in the comment of each function) are packed into one
-- argument of the call. Each argument is preceded by its length in four bytes. A batch has
-- hundreds of arguments, and one large argument is cheaper to send and to read than many small
-- arguments. Long texts ("bodies") follow the packed arguments of all shards as separate
-- arguments, because Lua hashes every byte of a string that it creates. `next_body()` returns
-- the next body.
--
-- All files are one Lua function, which can have 200 local variables. So a file whose local
-- variables no other file uses is in a block: `do … end`.
local function unpack_fields(packed)
  local fields, count, at = {}, 0, 1
  local size, read = #packed, struct.unpack
  while at <= size do
    count = count + 1
    fields[count], at = read('<I4c0', packed, at)
  end
  return fields
end

-- The time of the current call, in microseconds; nil until `clock` reads the time.
local called_at
-- The keys for which the current call has already called `outlive`.
local outlived

-- Registers a function. `flags` are flags of Redis: 'no-writes', or 'allow-oom'. A function
-- with 'allow-oom' also runs while Redis is out of memory. Such a function frees memory, or returns an answer that
-- callers need before they can free memory.
local function register(name, callback, flags)
  redis.register_function({
    function_name = name .. '_@V@',
    flags = flags or {},
    callback = function(keys, args)
      called_at, outlived = nil, {}
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
local HOLD_US = @HELD_SECONDS@ * MICROSECONDS

-- Returns the time of the Redis clock in microseconds. The time does not change during a call.
local function clock()
  if not called_at then
    local time = redis.call('TIME')
    called_at = tonumber(time[1]) * MICROSECONDS + tonumber(time[2])
  end
  return called_at
end

-- Returns the decimal digits of an integer up to 2^53. For a large integer, tostring would
-- return e.g. 1e+15. Arguments of redis.call need no conversion, because Redis itself writes
-- all digits.
local function digits(number)
  return string.format('%d', number)
end

-- Runs `write` without logging: Redis sends these writes neither to the append-only file nor
-- to replicas. So an answer never waits until these writes are on disk, but a restart or a
-- failover may lose them.
local function write_unlogged(write)
  redis.set_repl(redis.REPL_NONE)
  write()
  redis.set_repl(redis.REPL_ALL)
end

-- The limiters (rate limits, 429) of one call. The algorithm is a sliding window log. The times
-- are in Redis, so all edges share one count. `admit(key, limit)` returns 0 when a request passes, otherwise the
-- microseconds to wait. At the end of the call, `write()` stores the times of the requests that passed.
--
-- A limiter's list contains the times of the last `limit` requests that passed, oldest first. A
-- request passes when the list has fewer than `limit` times, or when the oldest time is at
-- least a second old. So at most `limit` requests pass in any window of one second. Rejected
-- requests do not count. Each list is written once per call, but is not logged, so all lists
-- are empty after a restart.
--
-- A list whose newest time is at least a second old is useless, because the next request
-- passes in any case. Such a list is emptied when it has STALE_MAX times or more. Otherwise a
-- bridge that polls every few seconds would fill its list.
local STALE_MAX = 16
local LIMITER_LEAST_MS = 2000
local LIMITER_MS = 10000

local function read_limiter(key, now)
  local count = redis.call('LLEN', key)
  local newest = count > 0 and tonumber(redis.call('LINDEX', key, -1)) or 0
  -- When the clock has stepped back by more than a second, the list is emptied. Otherwise, a
  -- full list could reject every request until the clock has caught up.
  local isOver = newest > now + MICROSECONDS or (count >= STALE_MAX and newest <= now - MICROSECONDS)
  -- After a smaller step back, the newest time serves as the current time until the clock has
  -- caught up.
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

-- Returns the length of the push queue and the bytes of its events. A separate key stores the count of these bytes,
-- because reading all events would take too long. If the count is lost, a new count becomes correct as soon as the
-- queue has been empty once.
local function queue_size(prefix)
  local length = redis.call('XLEN', prefix .. ':push')
  return length, length > 0 and tonumber(redis.call('GET', prefix .. ':pushbytes') or 0) or 0
end

local function set_queue_bytes(prefix, bytes)
  if bytes > 0 then redis.call('SET', prefix .. ':pushbytes', digits(bytes))
  else redis.call('DEL', prefix .. ':pushbytes') end
end

-- Ensures that a key does not expire in the next `seconds` seconds, with at most one write per
-- hour. A call looks at each key once.
local function outlive(key, seconds)
  if outlived[key] then return end
  outlived[key] = true
  if redis.call('PTTL', key) < seconds * 1000 then redis.call('EXPIRE', key, seconds + 3600) end
end

-- Returns the first elements of a logged delivery: {event id, type, number of the attempt, result, status}. None of these
-- texts contains a quote or an escape. The later elements, e.g. the start of a message, are not decoded: that would cost
-- time, and one element that cjson rejects would make all results of a call fail, again and again.
local function attempt_of(delivery)
  local event, type, attempt, result, status = string.match(delivery, '^%["([^"]*)","([^"]*)",(%d+),"([^"]*)",(%d+)')
  if not event then return cjson.decode(delivery) end
  return { event, type, tonumber(attempt), result, tonumber(status) }
end

-- Whether the result of a logged delivery is "success". The result follows the event id, the type and the number of the
-- attempt, which contain no quotes. A text later in the list, e.g. of a message, can also be "success".
local function is_logged_success(delivery)
  return string.find(delivery, '^%["[^"]*","[^"]*",%d+,"success"') ~= nil
end
