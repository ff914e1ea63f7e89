-- Checks 6 and 7, the two idempotency rules, and storing an inbound event, in
-- one step: an id is never remembered for an event that was not stored, nor the
-- other way round.
--
-- Remembered ids are fields of small hashes, which Redis keeps packed: about 20
-- bytes an id where there are many, twice that where they are few to a hash. A
-- request id is kept in the hash of the half day it came in; as that hash lives
-- until a day after its end, an id is looked up in the half days that a day can
-- touch, and in the next one in case the clock stepped back. A request without an
-- id is kept by its own timestamp, so one look-up finds it, for as long as that
-- timestamp could be accepted again.

-- Hashes of a shard for each span of time: a packed one holds 512 ids.
local BUCKETS = 1024
local HALF_DAY = 43200
local TEN_MINUTES = 600
local DAY = 86400

local function id_key(prefix, slot, bucket)
  return prefix .. ':id:' .. slot .. ':' .. bucket
end

local function bucket_of(digest)
  return (string.byte(digest, 1) * 256 + string.byte(digest, 2)) % BUCKETS
end

local function seen_id(prefix, digest, seconds)
  local bucket, field = bucket_of(digest), string.sub(digest, 3)
  local slot = math.floor(seconds / HALF_DAY)
  for s = slot - 1, slot + 1 do
    if redis.call('HEXISTS', id_key(prefix, s, bucket), field) == 1 then return true end
  end
  local offset = redis.call('HGET', id_key(prefix, slot - 2, bucket), field)
  -- In whole seconds: up to one too long rather than too short.
  return offset and seconds - ((slot - 2) * HALF_DAY + tonumber(offset)) <= DAY
end

local function remember_id(prefix, digest, seconds)
  local slot = math.floor(seconds / HALF_DAY)
  local key = id_key(prefix, slot, bucket_of(digest))
  redis.call('HSET', key, string.sub(digest, 3), seconds - slot * HALF_DAY)
  if redis.call('HLEN', key) == 1 then
    redis.call('EXPIREAT', key, (slot + 1) * HALF_DAY + DAY + TEN_MINUTES)
  end
end

-- True when the same signed request was stored before; remembers it when not.
local function repeats_request(prefix, digest, timestamp)
  local slot = math.floor(timestamp / TEN_MINUTES)
  local key = prefix .. ':same:' .. slot .. ':' .. bucket_of(digest)
  if redis.call('HSETNX', key, string.sub(digest, 3), 1) == 0 then return true end
  if redis.call('HLEN', key) == 1 then
    redis.call('EXPIREAT', key, (slot + 2) * TEN_MINUTES)
  end
  return false
end

-- ARGV: limit a second of a workspace, longest log in entries, in bytes, seconds
-- an event is kept in the log, then for each request: workspace, version of its
-- record, what it is (id: has a request id; same: has none; fault: breaks a field
-- rule), digest, signed timestamp, event.
-- Returns for each, in order: stored | repeated | fault | stale (the record has
-- changed since it was read) | microseconds to wait. Behind these, where events
-- left the log that some group had not acked: {lost, age | size, count, group or ''}.
register('append', function(keys, args)
  local prefix = keys[1]
  local now = clock()
  local seconds = math.floor(now / MICROSECONDS)
  local limit = tonumber(args[1])
  local log = prefix .. ':in'
  local answers = {}
  local stored = false
  for i = 5, #args, 6 do
    local workspace, version, what, digest, timestamp, event = unpack(args, i, i + 5)
    local answer
    if redis.call('HGET', prefix .. ':st:' .. workspace, 'version') ~= version then
      answer = 'stale'
    else
      local wait = admit(prefix .. ':rate:' .. workspace, now, limit)
      if wait > 0 then
        answer = wait
      elseif what == 'fault' then
        answer = 'fault'
      elseif what == 'id' and seen_id(prefix, digest, seconds) then
        answer = 'repeated'
      elseif what == 'same' and repeats_request(prefix, digest, tonumber(timestamp)) then
        answer = 'repeated'
      else
        redis.call('XADD', log, '*', 'w', workspace, 'e', event)
        if what == 'id' then remember_id(prefix, digest, seconds) end
        stored = true
        answer = 'stored'
      end
    end
    answers[#answers + 1] = answer
  end
  if stored then
    -- By age first: what is too old anyway does not go for want of room.
    local age = trim_inbound(prefix, 'MINID', digits((seconds - tonumber(args[4])) * 1000))
    local length = trim_inbound(prefix, 'MAXLEN', args[2])
    local bytes = trim_inbound_bytes(prefix, tonumber(args[3]))
    if age then answers[#answers + 1] = { 'lost', 'age', unpack(age) } end
    if length then answers[#answers + 1] = { 'lost', 'size', unpack(length) } end
    if bytes then answers[#answers + 1] = { 'lost', 'size', unpack(bytes) } end
    redis.call('PUBLISH', prefix .. ':wake:in', '')
  end
  return answers
end)
