-- Held events: a stream for each poll workspace, `:held:<workspace>`, an entry an event.
-- The id of an entry is `<sequence>-0`. Its value is the event as a page sends it, and its
-- field is the event's number: how many events the workspace has held up to it, which the
-- state keeps as `total`. Two numbers say how many events lie between, so none of them has
-- to be read to be counted.

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
-- left (`oldest`), which tells at once when there is nothing to remove. With `isThere`
-- the stream is not looked for: the caller finds out whether it is lost. Returns `gone`.
local function drop_expired(prefix, workspace, now, held, gone, oldest, isThere)
  if held <= gone then return gone end
  local key, cutoff = held_key(prefix, workspace), now - HOLD_US
  local through, left = held, nil
  if held > cutoff and (isThere or redis.call('EXISTS', key) == 1) then
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

local HOUR_US = 3600 * MICROSECONDS

local function hour_of(sequence)
  return math.floor(tonumber(sequence) / HOUR_US)
end

-- Appends events to what a workspace holds: a list with the sequence of each, followed by
-- its JSON. (Redis completes an id of one number to `<number>-0`.) `held` is the sequence of
-- the last event in the stream, nil when the stream has none. The stream expires 25 hours
-- after the first event of an hour: later ones of that hour need no write for it.
-- Returns its new `total`, and whether the stream had lost the events that it should have.
local function append_held(prefix, workspace, held, total, fresh)
  local key, first = held_key(prefix, workspace), 1
  if held and redis.call('XADD', key, 'NOMKSTREAM', fresh[1], total + 1, fresh[2]) then
    first, total = 3, total + 1
  end
  for i = first, #fresh, 2 do
    total = total + 1
    redis.call('XADD', key, fresh[i], total, fresh[i + 1])
  end
  local last, isLost = fresh[#fresh - 1], held and first == 1
  if not held or isLost or hour_of(last) > hour_of(held) then
    redis.call('EXPIREAT', key, digits((tonumber(last) + HOUR_US + HOLD_US) / MICROSECONDS))
  end
  return total, isLost
end
