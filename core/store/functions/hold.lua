-- Functions that publish events and answer polls. Redis stores held events as held.lua describes.

-- The function `page` returns the events of a page that does not exceed these bounds. For a larger page, `page` returns
-- only the range of the events. A separate XRANGE then reads the events, which costs Redis a fifth of reading them in
-- the function.
local PAGE_EVENTS = 8
local PAGE_BYTES = 16384
-- Number of events that are read before the size of the page is known. A page for a bridge that keeps up contains no
-- more events than this.
local FIRST_EVENTS = 3

-- Finds up to `limit` events after a sequence. Returns the number of events on the page, the
-- number of all events after the sequence, the entries of the page (nil for a large page), and
-- the first entry.
-- For a large page, only a few events are read, because the total can be computed from the number of the first event
-- (see held.lua). In Lua, reading one event costs as much as one call to Redis.
local function find_events(prefix, workspace, after, limit, total)
  local entries, waiting = events_after(prefix, workspace, after, math.min(limit, FIRST_EVENTS), total)
  local events = math.min(waiting, limit)
  if events > PAGE_EVENTS then return events, waiting, nil, entries[1] end
  if events > #entries then entries = events_after(prefix, workspace, after, events, total) end
  return events, waiting, entries, entries[1]
end

-- Records a poll that served events up to the sequence `through`. The poll returned `events` events, and `first` is the
-- entry of the first one.
local function note(prefix, workspace, now, state, through, events, first)
  note_poll(prefix, workspace, now, state, through, log_poll(prefix, workspace, now, state, events, first))
end

local function page(prefix, now, workspace, from, limit, state)
  if from == 'latest' then
    drop_expired(prefix, workspace, now, state)
    note(prefix, workspace, now, state, state.last_held, 0)
    return { 'page', digits(state.last_held), 0, 0 }
  end
  local after = from == 'oldest' and 0 or tonumber(from)
  -- If this poll reads events, the read also shows whether the stream exists.
  local reads = state.last_held > after
  drop_expired(prefix, workspace, now, state, reads)
  local start = math.max(after, state.expired_through)
  local events, waiting, entries, first = 0, 0, {}, nil
  if state.last_held > start then
    events, waiting, entries, first = find_events(prefix, workspace, start, limit, state.held_total)
    if waiting == 0 then drop_expired(prefix, workspace, now, state) end
  end
  local last_held, expired_through, largest = state.last_held, state.expired_through, state.largest_held
  local more = waiting > events and 1 or 0
  local gap = from ~= 'oldest' and after < expired_through and 1 or 0
  if not entries then
    -- The last sequence of a large page is unknown here if more events follow. The next poll
    -- sends that sequence as its cursor, and the sequence is recorded then.
    note(prefix, workspace, now, state, more == 1 and start or last_held, events, first)
    return { 'page', '', more, gap, { digits(start), digits(last_held), events, largest } }
  end
  local bytes, last = 0, entries[#entries]
  for i, entry in ipairs(entries) do bytes, entries[i] = bytes + #entry[2][2], entry[2][2] end
  -- For an empty page, the recorded sequence is that of the last event that the bridge no longer needs: its cursor, or
  -- the last expired event. But a cursor beyond the last held event came from another workspace, or from a page that
  -- was lost when Redis was restored from a backup. So a poll with such a cursor is recorded as if it had served no
  -- event.
  start = math.max(start, expired_through)
  local through = last and sequence_of(last) or (start <= last_held and start or 0)
  note(prefix, workspace, now, state, through, events, first)
  if bytes > PAGE_BYTES then return { 'page', '', more, gap, { digits(start), digits(last_held), events, largest } } end
  return { 'page', last and sequence_digits(last) or '', more, gap, unpack(entries) }
end

-- Reads the fields that a poll needs. The facts about held events are numbers even if no event was ever held.
local function read_poll_state(prefix, workspace)
  local values = redis.call('HMGET', state_key(prefix, workspace), STATE.held_facts, STATE.version, STATE.listed,
    STATE.polled_us, STATE.poll_run, STATE.polls_failing_ms)
  local expired_through, oldest_held, last_held, held_total, largest_held, served_through, total_before =
    unpack_facts(values[1])
  return { expired_through = expired_through, oldest_held = oldest_held, last_held = last_held, held_total = held_total,
    largest_held = largest_held, served_through = served_through, total_before = total_before, version = values[2] or nil, listed = values[3] or nil,
    polled_us = tonumber(values[4]), poll_run = values[5] or nil, polls_failing_ms = tonumber(values[6]) }
end

-- Answers polls: performs checks 2 and 6 of docs/checks.md, then reads the page.
-- ARGV: maximum requests per second from one address, and for one workspace. Then for each
-- poll: workspace; version of the workspace's record; key of the address's limiter ('' when
-- check 2 has already passed); `page`, or `count` to only count the poll against the limits;
-- start (oldest | latest | a cursor); maximum events of the page.
-- Returns for each poll, in order:
-- - {page, last sequence of the page or '', more, gap, then the events}. `more` is 1 when more events wait, otherwise
--   0. `gap` is 1 when events after the cursor expired, otherwise 0. For a large page, {sequence to read after, last
--   sequence to read, number of events, maximum bytes of an event} replaces the events.
-- - {counted}
-- - {stale}: the record has changed since it was read
-- - {address | wait, microseconds to wait}: the limit of the address or the workspace
register('page', function(keys, args)
  local prefix = keys[1]
  local now = clock()
  local addressLimit, limit = tonumber(args[1]), tonumber(args[2])
  local answers = {}

  local function answer_to(workspace, version, address, want, from, most)
    local wait = address == '' and 0 or admit(address, addressLimit, now)
    if wait > 0 then return { 'address', wait } end
    local state = read_poll_state(prefix, workspace)
    if state.version ~= version then return { 'stale' } end
    wait = admit(prefix .. ':rate:' .. workspace, limit, now)
    if wait > 0 then return { 'wait', wait } end
    if want == 'count' then return { 'counted' } end
    return page(prefix, now, workspace, from, tonumber(most), state)
  end

  for i = 3, #args, 6 do answers[#answers + 1] = answer_to(unpack(args, i, i + 5)) end
  return answers
end, { 'allow-oom' })

-- Bytes of a held event in addition to its envelope and its publisher.
local HELD_ENTRY_BYTES = 55
-- Minimum milliseconds between two writes of the time of the last refused event.
local REFUSED_NOTED_EVERY_MS = 10000

-- Returns the next sequence of a workspace after `last` (0 for none): the clock in
-- microseconds, or `last` + 1 when the clock is not ahead of `last`.
local function next_sequence(last, now)
  return math.max(last + 1, now)
end

-- Reads the fields that publishing needs. The facts about held events are numbers even if no event was ever held.
local function read_publish_state(prefix, workspace)
  local key = state_key(prefix, workspace)
  local values = redis.call('HMGET', key, STATE.held_facts, STATE.mode, STATE.last_sequence, STATE.listed)
  local expired_through, oldest_held, last_held, held_total, largest_held, served_through, total_before =
    unpack_facts(values[1])
  return { expired_through = expired_through, oldest_held = oldest_held, last_held = last_held, held_total = held_total,
    largest_held = largest_held, served_through = served_through, total_before = total_before, mode = values[2] or nil,
    last_sequence = math.max(tonumber(values[3]) or 0, last_held), listed = values[4] or nil, key = key,
    held_key = held_key(prefix, workspace),
    -- `publish` sets these fields during a call: the events to hold (as for append_held), their bytes, and the last
    -- assigned sequence. That sequence is stored only if there is no event to hold.
    fresh = nil, pending = 0, assigned = nil }
end

-- Holds new events of a workspace. `state` is the result of read_publish_state. `fresh` lists the events as for
-- append_held.
local function hold(prefix, now, workspace, state, fresh)
  drop_expired(prefix, workspace, now, state, true)
  local before, is_lost = state.last_held, nil
  local is_empty = before <= state.expired_through
  state.last_held, state.held_total, is_lost = append_held(state.held_key, not is_empty and before or nil, state.held_total, fresh)
  if is_lost then state.expired_through = before end
  if is_empty or is_lost then
    state.oldest_held, state.largest_held, state.total_before = tonumber(fresh[1]), 0, state.held_total - #fresh / 3
  end
  for i = 2, #fresh, 3 do
    if #fresh[i] > state.largest_held then state.largest_held = #fresh[i] end
  end
  redis.call('HSET', state.key, STATE.held_facts, pack_facts(state))
  if before <= state.served_through or before <= state.expired_through then
    begin_waiting(prefix, workspace, now)
    if not is_good(state.listed) then settle(prefix, workspace, now) end
  end
end

-- Opens the push queue of a shard to add events. `token` and `after` come from the calling core (see publish).
-- `is_read` says whether the core works on the queue and has read all its events. `close` stores the new size of the
-- queue in bytes, and wakes the cores unless `is_read` is true.
local function open_queue(prefix, most, mostBytes, token, after)
  local key = prefix .. ':push'
  local length, bytes = queue_size(prefix)
  local added = false
  local is_read = token ~= '' and holds_lease(prefix, CORES, token)
    and #redis.call('XRANGE', key, after == '-' and '-' or '(' .. after, '+', 'COUNT', 1) == 0

  -- Adds a packed event and its publisher ('' for unknown). Returns the id of the entry, or false when the queue is full.
  local function add(packed, publisher)
    if length >= most or bytes + #packed > mostBytes then return false end
    local entry = redis.call('XADD', key, '*', 'p', packed, 'by', publisher)
    length, bytes, added = length + 1, bytes + #packed, true
    return entry
  end

  local function close()
    if not added then return end
    set_queue_bytes(prefix, bytes)
    if not is_read then wake(prefix, 'push') end
  end

  return { add = add, close = close, is_read = is_read }
end

-- Records that an event was refused because the held events of a workspace are at their bound. Also adds an operator
-- event if no other event was refused in the last OPERATOR_EVENT_EVERY_MS. Returns the number of waiting events; 0 when
-- the bridge polls.
local function note_refused(prefix, workspace, now)
  local state, ms = read_health_state(prefix, workspace), math.floor(now / 1000)
  local since = ms - (state.refused_ms or 0)
  if since >= REFUSED_NOTED_EVERY_MS then
    redis.call('HSET', state_key(prefix, workspace), STATE.refused_ms, digits(ms))
  end
  if since >= OPERATOR_EVENT_EVERY_MS then
    add_operator_event(prefix, workspace, 'workspace.events_refused', { mode = 'poll', reason = 'held-full', since = ms })
  end
  if ms - (state.polled_us or 0) / 1000 < FAILING_AFTER_MS then return 0 end
  return (waiting(prefix, workspace, now, state))
end

-- Returns true if the fence's stream still holds the lease, and the fence's delivery (if any) is still pending with the
-- same attempt.
local function is_current(prefix, fence)
  local group, token, entry, attempt = string.match(fence, '^(%S+) (%S+) ?(%S*) ?(%d*)$')
  if not holds_lease(prefix, group, token) then return false end
  if entry == '' then return true end
  local pending = redis.pcall('XPENDING', prefix .. ':in', group, entry, entry, 1)
  if pending.err then
    if string.find(pending.err, 'NOGROUP', 1, true) then return false end
    error(pending)
  end
  return pending[1] ~= nil and pending[1][4] == tonumber(attempt)
end

-- Publishes events. Assigns each sequence and appends the event in the same step, so no reader
-- sees an event before an event with a lower sequence.
-- ARGV: seconds for which an idempotency key is stored; maximum length and maximum bytes of the push queue; maximum
-- bytes of the held events of a workspace; memory of a Redis without maxmemory in bytes, 0 for no limit; maximum bytes
-- of the failed events of the shard; the token with which the calling core holds the lease of the shard, and the entry
-- of the push queue that it read last ('-' for none). The token is '' if the core cannot accept events directly from
-- this call. Then for each event: workspace; idempotency key ('' for none); event id; and a list, packed in the same
-- way as arguments: message id, expiry in ms ('' for never), type, push; then the origin ('' for none); then the name
-- of the token that publishes the event ('' for unknown).
-- When the push queue is full, further events are kept as failed events, and logged with the reason "overloaded".
-- The origin begins with the traceparent ('' for none), which only the push queue stores. If the event has a fence, the
-- group and the token of a stream follow. If a delivery caused the event, its entry id and its attempt follow too. A
-- space precedes each field of the fence. The origin is a single argument, because most events have no origin.
-- `push` says how a push workspace gets the event. With `retried`, core pushes the event from the queue, with retries.
-- With `once`, core pushes the event from the queue, without retries. With `direct`, the caller of `publish` pushes the
-- event.
-- Bodies, for each event: the parts of the envelope before and after the sequence.
-- Returns for each event, in order:
-- - the sequence
-- - '<sequence> <entry id>': the calling core takes the event from this answer, and does not read it from the push queue
-- - {full, sequence}: the event was dropped, because the push queue is full
-- - {poll | push, sequence}: a direct event, with the mode of the workspace
-- - {repeated, event id, sequence, message id, expiry}
-- - {held-full, bytes, waiting}: the event would exceed the limit on the held events of the workspace, which already
--   take `bytes` bytes; `waiting` is the number of events that wait for a bridge that does not poll
-- - {store-full}: Redis has no memory left for held events
-- - {stale}: the stream of the fence does not hold the lease, or its delivery is acked or was delivered again
-- - {unknown}: the workspace does not exist, is native or is disconnected
-- If the core takes events, a list of their workspaces follows, each with its version.
register('publish', function(keys, args, next_body)
  local prefix = keys[1]
  local now = clock()
  local answers = {}
  -- The state of each workspace in this call. Each state is read once and written once.
  local states = {}
  -- Whether each fence is stale. No event of the call can make a fence stale, so each fence is checked once.
  local stale = {}
  local queue
  local held_most, memory_most, failed_most = tonumber(args[4]), tonumber(args[5]), tonumber(args[6])

  local function is_stale(fence)
    if stale[fence] == nil then stale[fence] = not is_current(prefix, fence) end
    return stale[fence]
  end

  local function send(workspace, event, sequence, rest, before, after, traceparent, publisher)
    queue = queue or open_queue(prefix, tonumber(args[2]), tonumber(args[3]), args[7], args[8])
    local packed = struct.pack('<I4c0I4c0I4c0', #workspace, workspace, #event, event, #sequence, sequence)
      .. rest .. struct.pack('<I4', #before + #sequence + #after) .. before .. sequence .. after
    if traceparent ~= '' then packed = packed .. struct.pack('<I4c0', #traceparent, traceparent) end
    local entry = queue.add(packed, publisher)
    if entry then
      states[workspace].is_queued = true
      return queue.is_read and sequence .. ' ' .. entry or tonumber(sequence)
    end
    keep_failed(prefix, workspace, now, event, packed, failed_most)
    log_drop(prefix, workspace, packed, publisher, 'overloaded')
    return { 'full', tonumber(sequence) }
  end

  -- Returns whether there is room to hold one more event, and the bytes of the held events.
  local function has_room(workspace, state, bytes)
    if is_small(state, bytes, held_most) then return true end
    local fits, used = reserve_held(state.held_key, bytes, held_most, state.pending)
    if fits then return true, used end
    if not drop_expired(prefix, workspace, now, state) then return false, used end
    return reserve_held(state.held_key, bytes, held_most, state.pending)
  end

  for i = 9, #args, 6 do
    local workspace, key, publisher = args[i], args[i + 1], args[i + 5]
    local before, after = next_body(), next_body()
    local traceparent, fence = args[i + 4], ''
    if traceparent ~= '' then traceparent, fence = string.match(traceparent, '^(%S*) ?(.*)$') end
    local state = states[workspace]
    if not state then
      state = read_publish_state(prefix, workspace)
      states[workspace] = state
    end
    local mode, answer, bytes = state.mode, nil, nil
    local known = key ~= '' and mode and redis.call('GET', prefix .. ':key:' .. workspace .. ':' .. key)
    if mode ~= 'poll' and mode ~= 'push' then
      answer = { 'unknown' }
    elseif known then
      answer = { 'repeated', cmsgpack.unpack(known) }
    elseif fence ~= '' and is_stale(fence) then
      answer = { 'stale' }
    elseif mode == 'poll' then
      bytes = #before + #after + #publisher + HELD_ENTRY_BYTES
      local fits, used = has_room(workspace, state, bytes)
      if not fits then answer = { 'held-full', used, note_refused(prefix, workspace, now) }
      elseif is_memory_tight(now, bytes, memory_most) then answer = { 'store-full' } end
    end
    if not answer then
      local number, event, rest = next_sequence(state.last_sequence, now), args[i + 2], args[i + 3]
      local sequence = digits(number)
      state.last_sequence, state.assigned = number, sequence
      -- The last packed field says how the event is pushed. Of the three possible values, only `direct` ends with a
      -- "t".
      local is_direct = string.byte(rest, -1) == 116
      if mode == 'poll' then
        local fresh, json = state.fresh, before .. sequence .. after
        if fresh then
          local count = #fresh
          fresh[count + 1], fresh[count + 2], fresh[count + 3] = sequence, json, publisher
        else
          state.fresh = { sequence, json, publisher }
        end
        state.pending = state.pending + bytes
      end
      if is_direct then answer = { mode, number }
      elseif mode == 'poll' then answer = number
      else answer = send(workspace, event, sequence, rest, before, after, traceparent, publisher) end
      if key ~= '' then
        local message, expires = unpack(unpack_fields(rest))
        redis.call('SET', prefix .. ':key:' .. workspace .. ':' .. key,
          cmsgpack.pack(event, sequence, message, expires), 'EX', args[1])
      end
    end
    answers[#answers + 1] = answer
  end
  for workspace, state in pairs(states) do
    if state.fresh then
      hold(prefix, now, workspace, state, state.fresh)
    elseif state.assigned then
      redis.call('HSET', state.key, STATE.last_sequence, state.assigned)
    end
  end
  if queue then queue.close() end
  if queue and queue.is_read then
    local versions = {}
    for workspace, state in pairs(states) do
      if state.is_queued then
        versions[#versions + 1] = workspace
        versions[#versions + 1] = redis.call('HGET', state_key(prefix, workspace), STATE.version) or '0'
      end
    end
    answers[#answers + 1] = versions
  end
  return answers
end)
