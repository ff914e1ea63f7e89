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
-- All files together form one Lua function, which can have at most 200 local variables. So a file is wrapped in a block
-- (`do … end`) if no other file uses its local variables.
local function unpack_fields(packed)
  local fields, count, at = {}, 0, 1
  local size, read = #packed, struct.unpack
  while at <= size do
    count = count + 1
    fields[count], at = read('<I4c0', packed, at)
  end
  return fields
end

-- The time of the current call, in microseconds, and its digits; nil until `clock` and `clock_digits` need them.
local called_at, called_at_digits
-- The keys for which the current call has already called `outlive`.
local outlived
-- The shards whose new events are announced to the cores at the end of the current call, for each part of a shard ("in"
-- or "push"); nil for none.
local woken

-- Wakes the cores at the end of the call, because a part of a shard has new events.
local function wake(prefix, part)
  woken = woken or {}
  woken[part] = woken[part] or {}
  table.insert(woken[part], string.match(prefix, '{(.*)}'))
end

-- Sends one message for all shards of the call, because every core reads each message.
local function send_wakes()
  for part, shards in pairs(woken) do
    redis.call('PUBLISH', 'cb:{' .. table.concat(shards, ',') .. '}:wake:' .. part, '')
  end
end

-- Registers a function. `flags` are flags of Redis: 'no-writes', or 'allow-oom'. A function
-- with 'allow-oom' also runs while Redis is out of memory. Such a function frees memory, or returns an answer that
-- callers need before they can free memory.
local function register(name, callback, flags)
  redis.register_function({
    function_name = name .. '_@V@',
    flags = flags or {},
    callback = function(keys, args)
      called_at, called_at_digits, outlived, woken = nil, nil, {}, nil
      local body = #keys
      local function next_body()
        body = body + 1
        return args[body]
      end
      if #keys == 1 then
        local answer = callback(keys, unpack_fields(args[1]), next_body)
        if woken then send_wakes() end
        return answer
      end
      local answers = {}
      for i, key in ipairs(keys) do answers[i] = callback({ key }, unpack_fields(args[i]), next_body) end
      if woken then send_wakes() end
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
-- return e.g. 1e+15. redis.call would also accept a number, because Redis itself writes all digits, but Redis takes
-- longer for a number than for a string.
local function digits(number)
  return string.format('%d', number)
end

-- Returns the digits of the time that `clock` returns.
local function clock_digits()
  called_at_digits = called_at_digits or digits(clock())
  return called_at_digits
end

-- Runs `write` without logging: Redis sends these writes neither to the append-only file nor
-- to replicas. So an answer never waits until these writes are on disk, but a restart or a
-- failover may lose them.
local function write_unlogged(write)
  redis.set_repl(redis.REPL_NONE)
  write()
  redis.set_repl(redis.REPL_ALL)
end

-- Returns the length of the push queue and the bytes of its events. A separate key stores the number of these bytes,
-- because reading all events would take too long. If this key is lost, the number is correct again once the queue has
-- been empty.
local function queue_size(prefix)
  local length = redis.call('XLEN', prefix .. ':push')
  return length, length > 0 and tonumber(redis.call('GET', prefix .. ':pushbytes') or 0) or 0
end

local function set_queue_bytes(prefix, bytes)
  if bytes > 0 then redis.call('SET', prefix .. ':pushbytes', digits(bytes))
  else redis.call('DEL', prefix .. ':pushbytes') end
end

-- Ensures that a key does not expire in the next `seconds` seconds, with at most one write per
-- hour. Each call checks a key at most once. Returns whether this call wrote.
local function outlive(key, seconds)
  if outlived[key] then return false end
  outlived[key] = true
  if redis.call('PTTL', key) >= seconds * 1000 then return false end
  redis.call('EXPIRE', key, seconds + 3600)
  return true
end

-- Returns the first elements of a logged delivery: {event id, type, number of the attempt, result, status}. None of these
-- texts contains a quote or an escape. The later elements, e.g. the start of a message, are not decoded. Decoding would
-- take time, and a single element that cjson rejects would make every attempt at the whole call fail.
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
