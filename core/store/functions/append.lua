-- In one atomic step: performs checks 2 and 6 of docs/checks.md, reports a failed check
-- 7, detects repeats (deduplication, idempotency, replay), and stores inbound events. So an
-- event is stored if and only if the identity of its request is stored.
--
-- An identity is a digest of the request id or of the signed request. The digests are fields
-- of small hashes, which Redis keeps packed. A digest takes about 20 bytes in a hash with many
-- digests, and about 40 bytes in a hash with few digests.
-- A request id is stored in the hash for the half day in which the request arrived. The hash expires a day and ten
-- minutes after the end of that half day. A lookup reads the hashes of all half days of the last 24 hours. The lookup
-- also reads the hash of the next half day, in case the clock stepped back. A request without an id is stored in the
-- hash for the ten-minute interval of its signed timestamp, so one lookup finds the request. The hash exists at least
-- as long as core could accept a request whose timestamp is in this interval.

-- Number of hashes in a shard for each half day (request ids) or ten minutes (requests without an id). Redis packs a
-- hash of up to 512 ids.
local BUCKETS = 1024
local DAY = @REQUEST_ID_SECONDS@
local HALF_DAY = DAY / 2
local TEN_MINUTES = 2 * @TIMESTAMP_TOLERANCE_SECONDS@

-- The keys of the half-day hashes, without the bucket, cached for each shard's prefix. `slot` is the number of the
-- current half day, and each offset from `slot` maps to the key of that half day. The keys are cached because
-- converting numbers to strings is slow in Lua.
local id_heads = {}

local function id_heads_of(prefix, slot)
  local heads = id_heads[prefix]
  if not heads or heads.slot ~= slot then
    heads = { slot = slot }
    for offset = -2, 1 do heads[offset] = prefix .. ':id:' .. digits(slot + offset) .. ':' end
    id_heads[prefix] = heads
  end
  return heads
end

local function bucket_of(digest)
  local first, second = string.byte(digest, 1, 2)
  return digits((first * 256 + second) % BUCKETS)
end

-- Adds a field to a hash that expires at `untilSeconds`. Returns false when the hash already
-- contains the field.
local function remember(key, field, value, untilSeconds)
  if redis.call('HSETNX', key, field, value) == 0 then return false end
  if redis.call('HLEN', key) == 1 then redis.call('EXPIREAT', key, untilSeconds) end
  return true
end

-- Returns whether the request id was stored within the last day. If the id was not stored, stores it unless `isClosed`
-- is true.
local function repeats_id(prefix, digest, seconds, isClosed)
  local bucket, field = bucket_of(digest), string.sub(digest, 3)
  local slot = math.floor(seconds / HALF_DAY)
  local heads = id_heads_of(prefix, slot)
  if redis.call('HEXISTS', heads[-1] .. bucket, field) == 1 then return true end
  if redis.call('HEXISTS', heads[1] .. bucket, field) == 1 then return true end
  local offset = redis.call('HGET', heads[-2] .. bucket, field)
  -- The times are whole seconds, so a repeat is found for up to a day and one second.
  if offset and seconds - ((slot - 2) * HALF_DAY + tonumber(offset)) <= DAY then return true end
  if isClosed then return redis.call('HEXISTS', heads[0] .. bucket, field) == 1 end
  return not remember(heads[0] .. bucket, field, digits(seconds - slot * HALF_DAY),
    (slot + 1) * HALF_DAY + DAY + TEN_MINUTES)
end

-- Returns whether the digest of the signed request was already stored. If the digest was not stored, stores it unless
-- `isClosed` is true.
local function repeats_request(prefix, digest, timestamp, isClosed)
  local slot = math.floor(timestamp / TEN_MINUTES)
  local key = prefix .. ':same:' .. digits(slot) .. ':' .. bucket_of(digest)
  if isClosed then return redis.call('HEXISTS', key, string.sub(digest, 3)) == 1 end
  return not remember(key, string.sub(digest, 3), '1', (slot + 2) * TEN_MINUTES)
end

local function read_post_state(prefix, workspace)
  local values = redis.call('HMGET', state_key(prefix, workspace), STATE.version, STATE.first_post_ms)
  return { version = values[1] or nil, first_post_ms = values[2] or nil }
end

-- ARGV: maximum requests per second from one address, and for one workspace; maximum entries of
-- the log; maximum bytes of the log; names of the limited tokens, separated by commas. Then for
-- each request: workspace; version of the workspace's record; key of the address's limiter (''
-- when check 2 has already passed); kind; digest; signed timestamp; event; traceparent ('' for
-- none). An entry of the log contains the workspace, the event, and the traceparent if there is
-- one. The kind is `id` for a request with an id, `same` for a request without an id, and
-- `fault` for a request that breaks a field rule.
-- Returns for each request, in order:
-- - stored, repeated or fault
-- - full: the event was not stored, because the log has no room for events of this workspace
-- - stale: the record has changed since it was read
-- - a number: microseconds to wait, because the workspace is over its limit
-- - {number}: microseconds to wait, because the address is over its limit
-- If events were lost because the log was at its bound (see room.lua), the item {lost, count,
-- group or ''} follows.
register('append', function(keys, args)
  local prefix = keys[1]
  local now = clock()
  local seconds = math.floor(now / MICROSECONDS)
  local addressLimit, limit = tonumber(args[1]), tonumber(args[2])
  local log = prefix .. ':in'
  -- The state of each workspace in this call.
  local states = {}
  local answers = {}
  local isStored, room = false, open_room(prefix, now, { most = tonumber(args[3]), bytes = tonumber(args[4]), limited = args[5] })

  -- Records the time of a workspace's first signed request.
  local function note_first(workspace, state)
    if state.first_post_ms then return end
    state.first_post_ms = digits(now / 1000)
    redis.call('HSET', state_key(prefix, workspace), STATE.first_post_ms, state.first_post_ms)
  end

  local function answer_to(workspace, version, address, what, digest, timestamp, event, traceparent)
    local wait = address == '' and 0 or admit(address, addressLimit, now)
    if wait > 0 then return { wait } end
    local state = states[workspace] or read_post_state(prefix, workspace)
    states[workspace] = state
    if state.version ~= version then return 'stale' end
    wait = admit(prefix .. ':rate:' .. workspace, limit, now)
    if wait > 0 then return wait end
    note_first(workspace, state)
    if what == 'fault' then return 'fault' end
    local isClosed = room.is_closed_to(workspace)
    if what == 'id' and repeats_id(prefix, digest, seconds, isClosed) then return 'repeated' end
    if what == 'same' and repeats_request(prefix, digest, tonumber(timestamp), isClosed) then return 'repeated' end
    if isClosed then return 'full' end
    if traceparent == '' then redis.call('XADD', log, '*', 'w', workspace, 'e', event)
    else redis.call('XADD', log, '*', 'w', workspace, 'e', event, 't', traceparent) end
    isStored = true
    room.add(workspace, #event + #traceparent)
    return 'stored'
  end

  for i = 6, #args, 8 do answers[#answers + 1] = answer_to(unpack(args, i, i + 7)) end
  local lost = room.close()
  if lost then answers[#answers + 1] = { 'lost', unpack(lost) } end
  if isStored then wake(prefix, 'in') end
  return answers
end)

-- Returns the time of a workspace's first signed request in ms; 0 if there was none. ARGV: workspace.
register('first_post', function(keys, args)
  return tonumber(redis.call('HGET', state_key(keys[1], args[1]), STATE.first_post_ms) or 0)
end, { 'no-writes' })
