-- Events whose pushes failed. Such an event is kept for a day, so that an operator can send it
-- again. `:failed:<workspace>` has the ids of the kept events, ordered by the time of the
-- failure in ms. `:failedevents:<workspace>` has each event by its id, in the form in which the
-- push queue stores it, and in the field `bytes` the sum of their sizes. The id of an event
-- begins with "evt_", so no event has the id `bytes`.

local FAILED_SECONDS = @FAILED_SECONDS@
local FAILED_MAX = @FAILED_MAX@
local FAILED_MAX_BYTES = @FAILED_MAX_BYTES@
local RESPONSE_SECONDS = @RESPONSE_SECONDS@
local RESPONSES_MAX = @RESPONSES_MAX@

local function failed_keys(prefix, workspace)
  return prefix .. ':failed:' .. workspace, prefix .. ':failedevents:' .. workspace
end

local function responses_key(prefix, workspace)
  return prefix .. ':responses:' .. workspace
end

-- Returns the time in ms after which an event must have failed to be still kept.
local function failed_cutoff(now)
  return math.floor(now / 1000) - FAILED_SECONDS * 1000
end

-- Returns the first fields of a packed event, without copying its envelope: workspace, event
-- id, sequence, message id, expiry in ms ('' for never), type.
local function unpack_head(packed)
  return struct.unpack('<I4c0I4c0I4c0I4c0I4c0I4c0', packed)
end

local function forget_failed(order, events, event)
  local bytes = redis.call('HSTRLEN', events, event)
  if redis.call('ZREM', order, event) == 0 or bytes == 0 then return end
  redis.call('HDEL', events, event)
  redis.call('HINCRBY', events, 'bytes', -bytes)
end

-- Keeps an event that leaves the push queue undelivered. The oldest failures are removed until
-- the event fits. An event that is too large by itself is not kept.
local function keep_failed(prefix, workspace, now, event, packed)
  if #packed > FAILED_MAX_BYTES then return end
  local order, events = failed_keys(prefix, workspace)
  forget_failed(order, events, event)
  local cutoff, bytes = failed_cutoff(now), tonumber(redis.call('HGET', events, 'bytes') or 0)
  local count = redis.call('ZCARD', order)
  while count > 0 do
    local oldest = redis.call('ZRANGE', order, 0, 0, 'WITHSCORES')
    local fits = count < FAILED_MAX and bytes + #packed <= FAILED_MAX_BYTES
    if fits and tonumber(oldest[2]) > cutoff then break end
    forget_failed(order, events, oldest[1])
    bytes, count = tonumber(redis.call('HGET', events, 'bytes') or 0), count - 1
  end
  redis.call('ZADD', order, digits(now / 1000), event)
  redis.call('HSET', events, event, packed, 'bytes', digits(bytes + #packed))
  redis.call('EXPIRE', order, FAILED_SECONDS)
  redis.call('EXPIRE', events, FAILED_SECONDS)
end

-- Returns the time in ms at which an attempt must have ended for its response to be still kept.
local function responses_cutoff(now)
  return math.floor(now / 1000) - RESPONSE_SECONDS * 1000
end

-- Keeps the start of the body of a bridge's response. `entry` is the id of the attempt's entry
-- in the log. These ids increase, so the stream accepts them as its own ids.
local function keep_response(prefix, workspace, now, entry, response)
  local key = responses_key(prefix, workspace)
  redis.call('XADD', key, 'MAXLEN', RESPONSES_MAX, entry, 'r', response)
  redis.call('XTRIM', key, 'MINID', digits(responses_cutoff(now)))
  redis.call('EXPIRE', key, RESPONSE_SECONDS)
end

-- Lists the kept events of a workspace. ARGV: workspace.
-- Returns for each event, newest failure first: {event id, type, time of the failure in ms,
-- expiry in ms, or '' for never}.
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
