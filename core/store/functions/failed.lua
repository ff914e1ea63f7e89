-- Failed events: events whose pushes failed (a dead letter queue). Redis keeps a failed event for a day, so that an
-- operator can send it again. `:failed:<workspace>` contains the ids of the failed events, ordered by the time of the
-- failure in ms. `:failedevents:<workspace>` contains each event under its id, in the form in which the push queue
-- stores it. The field `bytes` of that hash contains the total size of the events. The id of an event begins with
-- "evt_", so no event has the id `bytes`.
--
-- `shard_most` is the maximum total bytes of the shard's failed events. This bound is an argument, because it depends
-- on the memory of Redis. If it were a constant, cores with different values of `maxmemory` would have different
-- libraries. Each library has its own limiters (see limiters.lua).

local FAILED_SECONDS = @FAILED_SECONDS@
local FAILED_MAX = @FAILED_MAX@
local FAILED_MAX_BYTES = @FAILED_MAX_BYTES@
local RESPONSE_SECONDS = @RESPONSE_SECONDS@
local RESPONSES_MAX = @RESPONSES_MAX@

-- Maximum number of failures older than a day that one call removes from a shard.
local STALE_REMOVED_MAX = 16

local function failed_keys(prefix, workspace)
  return prefix .. ':failed:' .. workspace, prefix .. ':failedevents:' .. workspace
end

local function responses_key(prefix, workspace)
  return prefix .. ':responses:' .. workspace
end

-- Returns a time in ms: events that failed before this time are too old to be kept.
local function failed_cutoff(now)
  return math.floor(now / 1000) - FAILED_SECONDS * 1000
end

-- Returns the first fields of a packed event, without copying its envelope: workspace, event
-- id, sequence, message id, expiry in ms ('' for never), type. Also returns the position after these fields.
local function unpack_head(packed)
  return struct.unpack('<I4c0I4c0I4c0I4c0I4c0I4c0', packed)
end

-- Removes an event from the failed events of a workspace, if the event is one of them.
local function forget_failed(prefix, workspace, event)
  local order, events = failed_keys(prefix, workspace)
  local bytes = redis.call('HSTRLEN', events, event)
  if redis.call('ZREM', order, event) == 0 or bytes == 0 then return end
  redis.call('HDEL', events, event)
  redis.call('HINCRBY', events, 'bytes', -bytes)
  if redis.call('ZREM', prefix .. ':failed', bytes .. ' ' .. workspace .. ' ' .. event) == 1 then
    redis.call('DECRBY', prefix .. ':failedbytes', bytes)
  end
end

-- Whether an event of `bytes` bytes can be kept without removing another event.
local function has_room(prefix, workspace, bytes, shard_most)
  local order, events = failed_keys(prefix, workspace)
  return redis.call('ZCARD', order) < FAILED_MAX
    and tonumber(redis.call('HGET', events, 'bytes') or 0) + bytes <= FAILED_MAX_BYTES
    and tonumber(redis.call('GET', prefix .. ':failedbytes') or 0) + bytes <= shard_most
end

-- Removes the last failed test event of a workspace, if there is one (see note_test in log.lua).
local function forget_test(prefix, workspace)
  local last = redis.call('LINDEX', prefix .. ':tests:' .. workspace, -1)
  if last then forget_failed(prefix, workspace, string.match(last, '%S+$')) end
end

-- Removes the oldest failures of a workspace until there is room for an event of `bytes` bytes.
-- Also removes failed events that are too old to be kept. Returns the total bytes of the remaining failed events.
local function make_room(prefix, workspace, cutoff, bytes, shard_most)
  local order, events = failed_keys(prefix, workspace)
  -- A test event is removed first, because nobody needs to send it again.
  if not has_room(prefix, workspace, bytes, shard_most) then forget_test(prefix, workspace) end
  local count = redis.call('ZCARD', order)
  while count > 0 do
    local sum = tonumber(redis.call('HGET', events, 'bytes'))
    local oldest = redis.call('ZRANGE', order, 0, 0, 'WITHSCORES')
    local fits = count < FAILED_MAX and sum + bytes <= FAILED_MAX_BYTES
    if fits and tonumber(oldest[2]) > cutoff then return sum end
    forget_failed(prefix, workspace, oldest[1])
    count = count - 1
  end
  return 0
end

-- Makes room among the failures of all workspaces of the shard, as make_room does for one
-- workspace. Removes only some of the events that are too old to be kept, because there may be very many of them.
local function make_shard_room(prefix, cutoff, bytes, shard_most)
  local order, sum = prefix .. ':failed', prefix .. ':failedbytes'
  local stale = STALE_REMOVED_MAX
  while true do
    local oldest = redis.call('ZRANGE', order, 0, 0, 'WITHSCORES')
    local isStale = oldest[1] and tonumber(oldest[2]) <= cutoff and stale > 0
    local isFull = oldest[1] and tonumber(redis.call('GET', sum) or 0) + bytes > shard_most
    if not isStale and not isFull then return end
    if isStale then stale = stale - 1 end
    local size, workspace, event = string.match(oldest[1], '^(%d+) (%S+) (.*)$')
    redis.call('ZREM', order, oldest[1])
    redis.call('DECRBY', sum, size)
    forget_failed(prefix, workspace, event)
  end
end

-- Keeps as a failed event an event that leaves the push queue undelivered. The oldest failures are removed until the
-- event fits. An event that exceeds the maximum on its own is not kept.
local function keep_failed(prefix, workspace, now, event, packed, shard_most)
  local bytes = #packed
  if bytes > FAILED_MAX_BYTES then return end
  local order, events = failed_keys(prefix, workspace)
  local cutoff, ms = failed_cutoff(now), digits(now / 1000)
  forget_failed(prefix, workspace, event)
  make_shard_room(prefix, cutoff, bytes, shard_most)
  local sum = make_room(prefix, workspace, cutoff, bytes, shard_most)
  redis.call('ZADD', order, ms, event)
  redis.call('HSET', events, event, packed, 'bytes', digits(sum + bytes))
  redis.call('ZADD', prefix .. ':failed', ms, bytes .. ' ' .. workspace .. ' ' .. event)
  redis.call('INCRBY', prefix .. ':failedbytes', bytes)
  for _, key in ipairs({ order, events, prefix .. ':failed', prefix .. ':failedbytes' }) do
    redis.call('EXPIRE', key, FAILED_SECONDS)
  end
end

-- Returns a time in ms: responses to attempts that ended before this time are too old to be kept.
local function responses_cutoff(now)
  return math.floor(now / 1000) - RESPONSE_SECONDS * 1000
end

-- Keeps the start of a bridge's response body. `entry` is the id of the attempt's entry in the
-- log. The ids of attempts increase, so they can also be the ids in the stream of responses.
local function keep_response(prefix, workspace, now, entry, response)
  local key = responses_key(prefix, workspace)
  redis.call('XADD', key, 'MAXLEN', RESPONSES_MAX, entry, 'r', response)
  redis.call('XTRIM', key, 'MINID', digits(responses_cutoff(now)))
  redis.call('EXPIRE', key, RESPONSE_SECONDS)
end

-- Lists the failed events of a workspace. ARGV: workspace.
-- Returns for each event, newest failure first: {event id, type, time of the failure in ms, expiry in ms, or '' for
-- never}.
register('read_failed', function(keys, args)
  local order, events = failed_keys(keys[1], args[1])
  local answers = {}
  local ids = redis.call('ZRANGE', order, '+inf', '(' .. digits(failed_cutoff(clock())), 'BYSCORE', 'REV', 'WITHSCORES')
  for i = 1, #ids, 2 do
    local packed = redis.call('HGET', events, ids[i])
    if packed then
      local _, _, _, _, expires, type = unpack_head(packed)
      answers[#answers + 1] = { ids[i], type, ids[i + 1], expires }
    end
  end
  return answers
end, { 'no-writes' })
