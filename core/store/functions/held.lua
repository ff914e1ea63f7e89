-- Held events: a stream for each poll workspace, `:held:<workspace>`, an entry an event.
-- The id of an entry is `<sequence>-0`. Its value is the event as a page sends it, and its
-- field is the event's number: how many events the workspace has held up to it, which the
-- state keeps as `total`. Two numbers say how many events lie between, so none of them has
-- to be read to be counted.

local HELD_SECONDS = HOLD_US / MICROSECONDS

local function held_key(prefix, workspace)
  return prefix .. ':held:' .. workspace
end

local function sequence_of(entry)
  return tonumber(string.match(entry[1], '^%d+'))
end

-- Reads up to `count` events after a sequence, oldest first. Returns their entries, and
-- how many such events there are in all, by `total` of the state.
local function events_after(prefix, workspace, after, count, total)
  local entries = redis.call('XRANGE', held_key(prefix, workspace), '(' .. digits(after), '+', 'COUNT', count)
  return entries, entries[1] and total - tonumber(entries[1][2][1]) + 1 or 0
end

-- Removes events that are a day old. Events that the state has and the stream has lost
-- count as removed. The state keeps the highest sequence removed (`gone`) and the lowest
-- left (`oldest`), which tells at once when there is nothing to remove. Returns `gone`.
local function drop_expired(prefix, workspace, now, held, gone, oldest)
  if held <= gone then return gone end
  local key, cutoff = held_key(prefix, workspace), now - HOLD_US
  local through, left = held, nil
  if held > cutoff and redis.call('EXISTS', key) == 1 then
    if oldest > cutoff then return gone end
    local expired = redis.call('XREVRANGE', key, digits(cutoff), '-', 'COUNT', 1)[1]
    through = expired and sequence_of(expired) or gone
    redis.call('XTRIM', key, 'MINID', digits(cutoff + 1))
    left = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
  else
    redis.call('UNLINK', key)
  end
  redis.call('HSET', prefix .. ':st:' .. workspace, 'gone', digits(through),
    'oldest', digits(left and sequence_of(left) or held))
  return through
end

-- Appends events, {sequence, JSON} each in their order, to what a workspace holds.
-- Returns its new `total`.
local function append_held(prefix, workspace, total, fresh)
  local key = held_key(prefix, workspace)
  for _, event in ipairs(fresh) do
    total = total + 1
    redis.call('XADD', key, event[1] .. '-0', digits(total), event[2])
  end
  outlive(key, HELD_SECONDS)
  return total
end
