-- The free space in a shard's inbound log. An event leaves the log when every group has acked it, or after a day.
-- The log has a bound in entries and in bytes. When the log reaches a bound, events that at least one group has
-- acked leave the log, even if other groups have not acked them. So a game that has stopped cannot block the other
-- games. While there is a group, reaching a bound never removes an event that no group has acked. Without a group, the
-- oldest events leave. If a log at its bound contains only events that no group has acked, the log is full, and
-- `append` rejects new events.

-- Default number of entries in a node of a stream. With `~`, Redis removes only whole nodes, and stops before a node that
-- would exceed the LIMIT.
local NODE_ENTRIES = 100
-- Maximum number of entries that one call removes because of their age.
local OLD_AT_ONCE = 10000

-- Trims the log of inbound events. The key `:infirst` stores the id of the first entry that remained when this function
-- last trimmed the log. The lost entries below this id are already counted, so each lost entry is counted only once.
-- `trim` trims the log, and returns the number of removed entries. Returns {count, group} of the lost entries; nil when
-- none were lost.
local function trim_inbound(prefix, trim)
  local log = prefix .. ':in'
  local groups = groups_of(log)
  local trimmed = trim(log)
  if trimmed == 0 then return nil end
  local lost, group = count_lost(log, redis.call('GET', prefix .. ':infirst') or '-', trimmed, groups)
  local left = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  if left then redis.call('SET', prefix .. ':infirst', left[1]) end
  return lost > 0 and { lost, group } or nil
end

-- Returns the lowest id that a group still needs. The group has acked every entry below this id, except entries
-- below `from`, which are no longer in the log.
local function low_water(log, group, from)
  local unacked = redis.call('XPENDING', log, group[1], from, '+', 1)[1]
  if unacked then return unacked[1] end
  local ms, number = string.match(group[2], '^(%d+)-(%d+)$')
  return ms .. '-' .. digits(number + 1)
end

-- Calls `visit` with each group of a shard, and with the lowest id that the group still needs.
local function each_low_water(prefix, visit)
  local log, from = prefix .. ':in', redis.call('GET', prefix .. ':infirst') or '-'
  for _, group in ipairs(groups_of(log)) do visit(group[1], low_water(log, group, from)) end
end

-- Removes the entries that every group has acked. If there is no group, removes nothing.
local function trim_acked(prefix)
  local least
  each_low_water(prefix, function(_, id)
    if not least or is_before(id, least) then least = id end
  end)
  if least then redis.call('XTRIM', prefix .. ':in', 'MINID', least) end
end

-- Whether a group is reserved for one of the tokens in `limited`, which lists their names,
-- separated by commas.
local function is_limited(group, limited)
  for name in string.gmatch(limited, '[^,]+') do
    if group == name or string.sub(group, 1, #name + 1) == name .. '.' then return true end
  end
  return false
end

-- Removes about `count` entries that at least one group has acked. If there is no group, removes the oldest entries,
-- because no follower can ever read them. A group of a limited token acks the events of other workspaces without
-- delivering them, so such a group counts only if there is no other group. Returns the same as trim_inbound.
local function trim_behind(prefix, count, limited)
  local most, mostLimited
  each_low_water(prefix, function(group, id)
    if is_limited(group, limited) then
      if not mostLimited or is_before(mostLimited, id) then mostLimited = id end
    elseif not most or is_before(most, id) then most = id end
  end)
  most = most or mostLimited
  return trim_inbound(prefix, function(log)
    if most then return redis.call('XTRIM', log, 'MINID', '~', most, 'LIMIT', count + NODE_ENTRIES) end
    return redis.call('XTRIM', log, 'MAXLEN', '~', math.max(0, redis.call('XLEN', log) - count))
  end)
end

-- The bytes of a log are counted in slices, which the library keeps in its memory. A slice records the number and the
-- bytes of successive events, and the bytes of each workspace. The newest slices, whose events are still in the log,
-- add up to the bytes of the log and of each workspace. So counting does not cost a write to Redis per event. After
-- Redis has restarted, the bytes of the earlier events are estimated.
local SLICES = 16
-- Bytes of an entry in addition to its event.
local ENTRY_BYTES = 100
-- A log is crowded when it uses more than half of its bound in bytes. While a log is crowded, `append` rejects events
-- of a workspace that uses more than a quarter of the bound.
local CROWDED, SHARE = 1 / 2, 1 / 4
local LOOK_EVERY_US = MICROSECONDS / 10
local NONE = {}
local rooms = {}

local function new_slice()
  return { count = 0, bytes = 0, parts = {} }
end

local function room_of(prefix)
  local room = rooms[prefix]
  if not room then
    room = { slices = { new_slice() }, is_full = false, crowding = NONE, looked = 0, is_new = true }
    rooms[prefix] = room
  end
  return room
end

-- Returns the bytes of a log with `length` entries. Forgets the slices whose events have left the log.
local function bytes_of(prefix, room, length)
  local slices, count, bytes, first = room.slices, 0, 0, #room.slices
  for i = #slices, 1, -1 do
    if i < #slices and count >= length then break end
    count, bytes, first = count + slices[i].count, bytes + slices[i].bytes, i
  end
  for _ = 2, first do table.remove(slices, 1) end
  if count < length then
    room.each = room.each or redis.call('MEMORY', 'USAGE', prefix .. ':in') / length
    return bytes + (length - count) * room.each
  end
  -- The oldest events of the first slice have left the log.
  local oldest = slices[1]
  return bytes - (oldest.count > 0 and (count - length) * oldest.bytes / oldest.count or 0)
end

-- Returns the set of the workspaces whose events take more than `share` bytes.
local function crowding_in(room, share)
  local sums, found = {}, {}
  for _, slice in ipairs(room.slices) do
    for workspace, bytes in pairs(slice.parts) do sums[workspace] = (sums[workspace] or 0) + bytes end
  end
  for workspace, bytes in pairs(sums) do found[workspace] = bytes > share or nil end
  return found
end

-- Measures the log and makes room. `bounds` are those of `open_room`. Returns the lost entries as trim_inbound does.
local function look_at_room(prefix, room, now, bounds)
  local log, most, mostBytes, lost = prefix .. ':in', bounds.most, bounds.bytes, nil
  local length, bytes
  local function measure()
    length = redis.call('XLEN', log)
    bytes = bytes_of(prefix, room, length)
    return length > most or bytes > mostBytes
  end
  if measure() then
    trim_acked(prefix)
    if measure() then
      -- One slice more than necessary is removed, so that the log does not exceed its bound
      -- again immediately.
      local kept = math.min(most, length * mostBytes / bytes) * (1 - 1 / SLICES)
      lost = trim_behind(prefix, math.ceil(length - kept), bounds.limited)
      room.is_full = measure()
    else room.is_full = false end
  else room.is_full = false end
  room.crowding = bytes > mostBytes * CROWDED and crowding_in(room, mostBytes * SHARE) or NONE
  room.looked, room.is_new = now, false
  return lost
end

-- Returns an object that manages the room of a log during one call of `append`. `is_closed_to(workspace)` tells whether
-- an event of the workspace is rejected. `add` counts an event that was appended. `close` must be called after the last
-- event, and returns the lost entries as trim_inbound does. `bounds` contains the maximum number of entries (`most`),
-- the maximum `bytes`, and the names of the limited tokens (`limited`).
local function open_room(prefix, now, bounds)
  local room, lost = room_of(prefix), nil
  local is_tight = room.is_full or next(room.crowding)
  if room.is_new or (is_tight and math.abs(now - room.looked) >= LOOK_EVERY_US) then
    lost = look_at_room(prefix, room, now, bounds)
  end
  local slice = room.slices[#room.slices]
  return {
    is_closed_to = function(workspace) return room.is_full or room.crowding[workspace] end,
    add = function(workspace, bytes)
      bytes = bytes + ENTRY_BYTES
      slice.count, slice.bytes = slice.count + 1, slice.bytes + bytes
      slice.parts[workspace] = (slice.parts[workspace] or 0) + bytes
    end,
    close = function()
      if slice.bytes < bounds.bytes / SLICES and slice.count < bounds.most / SLICES then return lost end
      room.slices[#room.slices + 1] = new_slice()
      local more = look_at_room(prefix, room, now, bounds)
      if lost and more then return { lost[1] + more[1], more[2] } end
      return lost or more
    end,
  }
end

-- Removes the events that every group has acked, and the events that are too old. ARGV: maximum age in seconds.
-- Returns {count, group or ''} of the events that were lost because of their age; an empty list when none were lost.
register('tidy_inbound', function(keys, args)
  local prefix = keys[1]
  if redis.call('XLEN', prefix .. ':in') == 0 then return {} end
  trim_acked(prefix)
  local least = digits((math.floor(clock() / MICROSECONDS) - tonumber(args[1])) * 1000)
  return trim_inbound(prefix, function(log)
    local trimmed = redis.call('XTRIM', log, 'MINID', '~', least, 'LIMIT', OLD_AT_ONCE)
    if trimmed > OLD_AT_ONCE - NODE_ENTRIES then return trimmed end
    -- At this point, all nodes that contain only old entries are removed. A node of a quiet shard can span days, so the
    -- old entries at the start of the next node are removed too.
    return trimmed + redis.call('XTRIM', log, 'MINID', least)
  end) or {}
end, { 'allow-oom' })
