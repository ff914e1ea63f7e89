-- Polls and publications of held events, which are kept as held.lua says. The state
-- of a workspace (`:st:`) has the last sequence that was held (`held`), the highest that
-- expired (`gone`), the lowest left (`oldest`), the last served (`served`), and how many
-- events were ever held (`total`).

-- A page of up to so many events and bytes is answered by the function. For a larger one
-- it says which events those are: reading them past the functions costs Redis a fifth as much.
local PAGE_EVENTS = 8
local PAGE_BYTES = 16384

-- Finds up to `limit` events after a sequence. Returns how many a page has, how many there
-- are in all, and the entries of a small page; nil for a larger one. An event takes Lua as
-- long as a call of Redis, so of a large page one is read, for its number.
local function find_events(prefix, workspace, after, limit, total)
  local entries, waiting = events_after(prefix, workspace, after, 1, total)
  local events = math.min(waiting, limit)
  if events > PAGE_EVENTS then return events, waiting, nil end
  if events > 1 then entries = events_after(prefix, workspace, after, events, total) end
  return events, waiting, entries
end

local function page(prefix, now, workspace, from, limit, fields)
  local held, gone, served = tonumber(fields.held or 0), tonumber(fields.gone or 0), tonumber(fields.served or 0)
  gone = drop_expired(prefix, workspace, now, held, gone, tonumber(fields.oldest or 0))
  local function note(through, events)
    local run = log_poll(prefix, workspace, now, fields.run, fields.polled, events)
    note_poll(prefix, workspace, now, held, served, through, fields, run)
  end
  if from == 'latest' then
    note(held, 0)
    return { 'page', digits(held), 0, 0 }
  end
  local after = from == 'oldest' and 0 or tonumber(from)
  local start = math.max(after, gone)
  local events, waiting, entries = 0, 0, {}
  if held > start then
    events, waiting, entries = find_events(prefix, workspace, start, limit, tonumber(fields.total or 0))
  end
  local more = waiting > events and 1 or 0
  local gap = from ~= 'oldest' and after < gone and 1 or 0
  if not entries then
    -- Where a large page ends is not known here, unless it is the end of all. The next
    -- poll says so: its cursor is the end of this page.
    note(more == 1 and start or held, events)
    return { 'page', '', more, gap, { digits(start), digits(held), events } }
  end
  local bytes, last = 0, nil
  for i, entry in ipairs(entries) do
    bytes, last, entries[i] = bytes + #entry[2][2], sequence_of(entry), entry[2][2]
  end
  -- A bridge has the events up to its cursor, and expired events do not wait.
  note(last or start, events)
  if bytes > PAGE_BYTES then return { 'page', '', more, gap, { digits(start), digits(held), events } } end
  return { 'page', last and digits(last) or '', more, gap, unpack(entries) }
end

-- What a poll needs of the state of a workspace.
local POLL_FIELDS = { 'version', 'held', 'gone', 'served', 'failing', 'oldest', 'run', 'polled', 'total' }
local function read_poll_fields(prefix, workspace)
  local values, fields = redis.call('HMGET', prefix .. ':st:' .. workspace, unpack(POLL_FIELDS)), {}
  for i, name in ipairs(POLL_FIELDS) do fields[name] = values[i] end
  return fields
end

-- A poll: checks 2 and 6, then its page.
-- ARGV: limits a second of an address and of a workspace, then for each poll: workspace,
-- version of its record, the key of its address's limit ('' when check 2 is made already),
-- what is wanted (page, or count: only count it against the limits), from (oldest |
-- latest | a cursor), limit of the page.
-- Returns for each, in order: {page, last sequence of the page or '', 1 when more
-- wait, 1 when events after the cursor expired, the events of a small page | of a large
-- one {after which sequence, through which, how many}} | {counted} | {stale} |
-- {address | wait, microseconds}.
register('page', function(keys, args)
  local prefix = keys[1]
  local now = clock()
  local addressLimit, limit = tonumber(args[1]), tonumber(args[2])
  local limiters = new_limiters(now)
  local answers = {}
  for i = 3, #args, 6 do
    local workspace, version, address, want, from, most = unpack(args, i, i + 5)
    local answer
    local wait = address == '' and 0 or limiters.admit(address, addressLimit)
    if wait > 0 then
      answer = { 'address', wait }
    else
      local fields = read_poll_fields(prefix, workspace)
      if fields.version ~= version then
        answer = { 'stale' }
      else
        wait = limiters.admit(prefix .. ':rate:' .. workspace, limit)
        if wait > 0 then
          answer = { 'wait', wait }
        elseif want == 'count' then
          answer = { 'counted' }
        else
          answer = page(prefix, now, workspace, from, tonumber(most), fields)
        end
      end
    end
    answers[#answers + 1] = answer
  end
  limiters.write()
  return answers
end)

-- The next sequence of a workspace whose last one is given: the clock, or one more
-- than the last where the clock has not moved on.
local function next_sequence(last, now)
  return digits(math.max(tonumber(last or 0) + 1, now))
end

-- What publishing needs of a workspace.
local function read_state(prefix, workspace)
  local fields = redis.call('HMGET', prefix .. ':st:' .. workspace, 'mode', 'sequence', 'held', 'gone', 'served', 'oldest', 'total')
  return {
    mode = fields[1],
    sequence = fields[2],
    held = tonumber(fields[3] or 0),
    gone = tonumber(fields[4] or 0),
    served = tonumber(fields[5] or 0),
    oldest = tonumber(fields[6] or 0),
    total = tonumber(fields[7] or 0),
  }
end

-- Holds events that have the next sequences of a workspace, whose state was just read: a
-- list with the sequence of each, followed by its JSON.
local function hold(prefix, now, workspace, state, fresh)
  local gone = drop_expired(prefix, workspace, now, state.held, state.gone, state.oldest, true)
  local total, isLost = append_held(prefix, workspace, state.held > gone and state.held or nil, state.total, fresh)
  local key, last = prefix .. ':st:' .. workspace, fresh[#fresh - 1]
  if isLost then gone = state.held end
  if state.held > gone then redis.call('HSET', key, 'sequence', last, 'held', last, 'total', total)
  else redis.call('HSET', key, 'sequence', last, 'held', last, 'total', total, 'oldest', fresh[1], 'gone', gone) end
  if state.held <= math.max(state.served, gone) then begin_waiting(prefix, workspace, now) end
end

-- Opens the push queue of a shard for adding events; `close` writes its size and wakes the cores.
local function open_queue(prefix, most, mostBytes)
  local length, bytes = queue_size(prefix)
  local added = false

  -- Adds an event as it is packed. False when there is no room.
  local function add(packed)
    if length >= most or bytes + #packed > mostBytes then return false end
    redis.call('XADD', prefix .. ':push', '*', 'p', packed)
    length, bytes, added = length + 1, bytes + #packed, true
    return true
  end

  local function close()
    if not added then return end
    set_queue_bytes(prefix, bytes)
    redis.call('PUBLISH', prefix .. ':wake:push', '')
  end

  return { add = add, close = close }
end

-- Publishes events: mints each sequence and appends the event in the same step,
-- so that no later number is ever seen first.
-- ARGV: seconds an idempotency key is remembered, longest push queue and its most bytes (past
-- either, events are dropped, and logged so, as overloaded), then for each event: workspace,
-- idempotency key ('' for none), event id, and a list packed as arguments are: message id,
-- expiry in ms ('' for never), type, how a push workspace gets it (retried | once: pushed,
-- with or without retries; direct: the caller pushes it). Bodies: of each event, the envelope
-- before its sequence, and after it.
-- Returns for each, in order: its sequence | {full, sequence} (the push queue had no room) |
-- {poll or push, sequence} for a direct one: the mode of its workspace | {repeated, event id,
-- sequence, message id, expiry} | {unknown} (no such workspace, or none with a bridge).
register('publish', function(keys, args, next_body)
  local prefix = keys[1]
  local now = clock()
  local answers = {}
  -- What the call has done to a workspace so far, by which it is read and written once.
  local states = {}
  local queue

  local function send(workspace, event, sequence, rest, before, after)
    queue = queue or open_queue(prefix, tonumber(args[2]), tonumber(args[3]))
    if queue.add(struct.pack('<I4c0I4c0I4c0', #workspace, workspace, #event, event, #sequence, sequence)
      .. rest .. struct.pack('<I4', #before + #sequence + #after) .. before .. sequence .. after) then
      return tonumber(sequence)
    end
    log_drop(prefix, workspace, event, unpack_fields(rest)[3], 'overloaded')
    return { 'full', tonumber(sequence) }
  end

  for i = 4, #args, 4 do
    local workspace, key, event, rest = unpack(args, i, i + 3)
    local before, after = next_body(), next_body()
    local state = states[workspace]
    if not state then
      state = read_state(prefix, workspace)
      state.fresh = {}
      states[workspace] = state
    end
    local mode, answer = state.mode, nil
    local known = key ~= '' and mode and redis.call('GET', prefix .. ':key:' .. workspace .. ':' .. key)
    if mode ~= 'poll' and mode ~= 'push' then
      answer = { 'unknown' }
    elseif known then
      answer = { 'repeated', cmsgpack.unpack(known) }
    else
      local sequence = next_sequence(state.sequence, now)
      state.sequence, state.minted = sequence, true
      -- How the event is pushed is the last of the packed fields.
      local is_direct = string.sub(rest, -6) == 'direct'
      if mode == 'poll' then
        local fresh = state.fresh
        fresh[#fresh + 1], fresh[#fresh + 2] = sequence, before .. sequence .. after
      end
      if is_direct then answer = { mode, tonumber(sequence) }
      elseif mode == 'poll' then answer = tonumber(sequence)
      else answer = send(workspace, event, sequence, rest, before, after) end
      if key ~= '' then
        local message, expires = unpack(unpack_fields(rest))
        redis.call('SET', prefix .. ':key:' .. workspace .. ':' .. key,
          cmsgpack.pack(event, sequence, message, expires), 'EX', args[1])
      end
    end
    answers[#answers + 1] = answer
  end
  for workspace, state in pairs(states) do
    if #state.fresh > 0 then
      hold(prefix, now, workspace, state, state.fresh)
    elseif state.minted then
      redis.call('HSET', prefix .. ':st:' .. workspace, 'sequence', state.sequence)
    end
  end
  if queue then queue.close() end
  return answers
end)
