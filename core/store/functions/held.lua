-- Held events. Each poll workspace has a stream, `:held:<workspace>`, with an entry for each
-- event. The id of an entry is `<sequence>-0`. An entry has one field, whose value is the event in the form in which a
-- page contains it. The field's name is the event's number, then, if the publishing token is known, a space and the
-- name of the token. The number counts all events ever held for the workspace, up to and including this event.
-- `held_total` in the workspace's state is the number of the last event. The number of events after a given event is
-- `held_total` minus the number of that event, so the later events can be counted without being read. The publisher is
-- not a second field, because a page would then take Redis and core a quarter more time.

local function held_key(prefix, workspace)
  return prefix .. ':held:' .. workspace
end

-- Returns the digits of an entry's sequence: its id without `-0`.
local function sequence_digits(entry)
  return string.sub(entry[1], 1, -3)
end

local function sequence_of(entry)
  return tonumber(sequence_digits(entry))
end

local function held_field(number, publisher)
  return publisher == '' and digits(number) or digits(number) .. ' ' .. publisher
end

-- Returns the number of the event in an entry, as digits, and its publisher ('' for unknown).
local function number_of(entry)
  return string.match(entry[2][1], '^(%d+) ?(.*)$')
end

-- Reads up to `count` events after a sequence, oldest first. Returns their entries, and the
-- number of all events after the sequence. `total` is `held_total` of the workspace's state.
local function events_after(prefix, workspace, after, count, total)
  local entries = redis.call('XRANGE', held_key(prefix, workspace), '(' .. digits(after), '+', 'COUNT', digits(count))
  return entries, entries[1] and total - tonumber((number_of(entries[1]))) + 1 or 0
end

-- Returns the number of waiting events, and the sequence of the oldest waiting event, if any.
-- `state` contains `served_through` and `held_total`.
local function waiting(prefix, workspace, now, state)
  local after = math.max(state.served_through or 0, now - HOLD_US)
  local entries, count = events_after(prefix, workspace, after, 1, state.held_total or 0)
  return count, entries[1] and sequence_of(entries[1])
end

-- Removes events that are a day old. If the stream itself is lost, all of its events count as
-- removed. `state` contains all facts about held events, so the function
-- reads no event when there is nothing to remove. The function updates `expired_through` and `oldest_held`. If
-- `is_there` is true, the function does not check that the stream exists, because the caller makes this check later.
-- Returns whether an event was removed.
local function drop_expired(prefix, workspace, now, state, is_there)
  local last_held, expired_through = state.last_held, state.expired_through
  if last_held <= expired_through then return false end
  local cutoff = now - HOLD_US
  if is_there and state.oldest_held > cutoff then return false end
  local key, through, left = held_key(prefix, workspace), last_held, nil
  if last_held > cutoff and (is_there or redis.call('EXISTS', key) == 1) then
    if state.oldest_held > cutoff then return false end
    local expired = redis.call('XREVRANGE', key, digits(cutoff), '-', 'COUNT', 1)[1]
    through = expired and sequence_of(expired) or expired_through
    redis.call('XTRIM', key, 'MINID', digits(cutoff + 1))
    left = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
  else
    redis.call('UNLINK', key)
  end
  state.expired_through, state.oldest_held = through, left and sequence_of(left) or last_held
  redis.call('HSET', state_key(prefix, workspace), STATE.held_facts, pack_facts(state))
  return through > expired_through
end

local HOUR_US = 3600 * MICROSECONDS

local function hour_of(sequence)
  return math.floor(sequence / HOUR_US)
end

-- Appends events to the stream of a workspace. `fresh` lists the sequence of each event, followed by its JSON and its
-- publisher ('' for unknown). Redis completes an id that is only a number to `<number>-0`. `held` is the sequence of
-- the last event in the stream, nil when the stream is empty. The first event of each hour sets the stream to expire 25
-- hours later. Later events of that hour do not set the expiry again. Returns the sequence of the last event, the new
-- `held_total`, and whether the earlier events of the stream were lost.
local function append_held(key, held, total, fresh)
  local first = 1
  if held and redis.call('XADD', key, 'NOMKSTREAM', fresh[1], held_field(total + 1, fresh[3]), fresh[2]) then
    first, total = 4, total + 1
  end
  for i = first, #fresh, 3 do
    total = total + 1
    redis.call('XADD', key, fresh[i], held_field(total, fresh[i + 2]), fresh[i + 1])
  end
  local last, is_lost = tonumber(fresh[#fresh - 2]), held and first == 1
  if not held or is_lost or hour_of(last) > hour_of(held) then
    redis.call('EXPIREAT', key, digits((last + HOUR_US + HOLD_US) / MICROSECONDS))
  end
  return last, total, is_lost
end

-- The bytes that can be added to a workspace's held events before Redis measures these events again. The library keeps
-- one number in its memory for each workspace that recently got events.
local HELD_LOOKS = 16
local HELD_ROOMS_MAX = 10000
local held_rooms, held_rooms_count = {}, 0

-- Upper bounds of the extra bytes that Redis needs: for an event in addition to its text, and for a stream.
local EVENT_EXTRA_BYTES = 256
local STREAM_EXTRA_BYTES = 8192

-- Whether a workspace has so few held events that Redis need not measure them. Even if every event since the stream was
-- last empty were still held, these events and the next event would take only a small part of `most`. `bytes` is the
-- size of the next event. `state` contains the facts about held events, and as `pending` the bytes that were reserved
-- in this call.
local function is_small(state, bytes, most)
  local events = state.held_total - state.total_before
  local held = events * (state.largest_held + EVENT_EXTRA_BYTES) + STREAM_EXTRA_BYTES
  return held + 2 * (state.pending + bytes) < most / HELD_LOOKS
end

-- Reserves room for an event in the stream `key`. `pending` is the number of bytes that were reserved in this call.
-- If the held events would exceed `most` bytes, returns false and their current bytes.
local function reserve_held(key, bytes, most, pending)
  local room = held_rooms[key]
  if not room then
    if held_rooms_count >= HELD_ROOMS_MAX then held_rooms, held_rooms_count = {}, 0 end
    held_rooms_count = held_rooms_count + 1
  end
  if not room or room < bytes then
    local used = (redis.call('MEMORY', 'USAGE', key) or 0) + pending
    room = math.min(most - used, most / HELD_LOOKS)
    held_rooms[key] = room
    if used + bytes > most then return false, used end
  end
  held_rooms[key] = room - bytes
  return true
end

-- Held events stay for a day even if the bridge polls, so they must not use the memory that is needed for events that
-- leave sooner. When Redis has used this fraction of its memory, no more events are held. The rest of the memory is for
-- inbound events and pushes.
local HELD_MEMORY_MAX = 0.85
local MEMORY_LOOK_US, MEMORY_LOOK_BYTES = MICROSECONDS / 10, 1048576
local memory = { looked = 0, added = 0, is_tight = false }

-- Whether Redis has no memory left for held events. `bytes` is the size of the event to add. `limit` is the assumed
-- memory of a Redis without maxmemory (0 for no limit).
local function is_memory_tight(now, bytes, limit)
  memory.added = memory.added + bytes
  if math.abs(now - memory.looked) < MEMORY_LOOK_US and memory.added < MEMORY_LOOK_BYTES then return memory.is_tight end
  -- The Redis user may lack the permission for INFO.
  local info = redis.pcall('INFO', 'memory')
  if type(info) == 'table' then info = '' end
  local function field(name) return tonumber(string.match(info, name .. ':(%d+)') or 0) end
  local most = field('maxmemory')
  if most == 0 then most = limit end
  local used = field('used_memory') - field('mem_not_counted_for_evict')
  memory = { looked = now, added = 0, is_tight = most > 0 and used > HELD_MEMORY_MAX * most }
  return memory.is_tight
end
