-- The push queue of a shard contains the events of push workspaces in the order of publication.
-- An event stays until it is delivered, dropped, or moved to the held events. The field `p` of an entry contains the
-- packed event. The field `by` contains the name of the token that published the event ('' for unknown); entries of
-- older releases lack this field. One core at a time
-- works on the queue: the holder of the shard's lease. For each event that waits for a retry, the
-- hash `:tries` contains the number of attempts and the time of the first failure, so that the
-- next holder of the lease can make the remaining attempts.

-- Number of entries that one XRANGE reads. The number is small, because entries beyond the byte
-- limit are read but not returned.
local READ_AT_ONCE = 20

-- Reads events from the queue. `unpack_fields` unpacks a packed event into these
-- fields: workspace, event id, sequence, message id, expiry in ms ('' for never), type,
-- `retried` or `once`, envelope, and the traceparent if the event is traced.
-- ARGV: token of the lease, the entry id to start after ('-' to start at the first entry),
-- maximum number of events, maximum bytes of all events. If any events are left, at least one
-- event is read, however large.
-- Returns false when the token does not hold the lease. Otherwise returns a list:
-- - 1 when the queue was read to its end, otherwise 0
-- - a list of the workspaces of the events, each followed by its version ('0' for a workspace
--   that no longer exists)
-- - for each event: entry id, packed value, '<attempts made> <time of the first failure,
--   ms>', or '' before the first attempt, and the publisher
register('read_pushes', function(keys, args)
  local prefix = keys[1]
  if not holds_lease(prefix, CORES, args[1]) then return false end
  local from = args[2] == '-' and '-' or '(' .. args[2]
  local room, bytes = tonumber(args[3]), tonumber(args[4])
  local tries = prefix .. ':tries'
  local tried = redis.call('EXISTS', tries) == 1
  local versions, seen = {}, {}
  local answers = { 0, versions }
  while room > 0 do
    local count = math.min(room, READ_AT_ONCE)
    local entries = redis.call('XRANGE', prefix .. ':push', from, '+', 'COUNT', count)
    for _, entry in ipairs(entries) do
      local packed = entry[2][2]
      bytes = bytes - #packed
      if bytes < 0 and #answers > 2 then return answers end
      local workspace = struct.unpack('<I4c0', packed)
      if not seen[workspace] then
        seen[workspace] = true
        versions[#versions + 1] = workspace
        versions[#versions + 1] = redis.call('HGET', state_key(prefix, workspace), STATE.version) or '0'
      end
      local at = #answers
      answers[at + 1], answers[at + 2] = entry[1], packed
      answers[at + 3] = tried and redis.call('HGET', tries, entry[1]) or ''
      answers[at + 4] = entry[2][4] or ''
    end
    if #entries < count then
      answers[1] = 1
      break
    end
    from = '(' .. entries[count][1]
    room = room - count
  end
  return answers
end, { 'no-writes' })

local read_moves = state_reader('last_moved', 'held_before_moves')

-- Moves a queued event of a poll workspace to the held events, with a new sequence. Core has
-- never tried to push such an event. An update is dropped when an event that was published later
-- is already held: that event may be a later update of the same message. An event whose workspace
-- is disconnected or deleted is dropped. A series of moves ends when a new event is held without
-- being queued first.
-- Returns recorded; pushed (the workspace is a push workspace again, so the event stays
-- queued); polls or disconnected (the event was dropped for this reason).
local function hold_queued(prefix, now, workspace, entry)
  local state = read_publish_state(prefix, workspace)
  if state.mode == 'push' then return 'pushed' end
  local found = redis.call('XRANGE', prefix .. ':push', entry, entry)[1]
  if not found then return 'recorded' end
  local packed, publisher = found[2][2], found[2][4] or ''
  local push = unpack_fields(packed)
  if state.mode ~= 'poll' then
    if state.mode then log_drop(prefix, workspace, packed, publisher, 'disconnected') end
    return 'disconnected'
  end
  local sequence, type, envelope = push[3], push[6], push[8]
  local moves, last_held = read_moves(prefix, workspace), state.last_held or 0
  local held_before = moves.last_moved == last_held and moves.held_before_moves or last_held
  if type == 'message.update' and held_before > tonumber(sequence) then
    log_drop(prefix, workspace, packed, publisher, 'polls')
    return 'polls'
  end
  local fresh = digits(next_sequence(state.last_sequence, now))
  local from, to = string.find(envelope, '"sequence":' .. sequence .. ',', 1, true)
  hold(prefix, now, workspace, state, { fresh,
    string.sub(envelope, 1, from - 1) .. '"sequence":' .. fresh .. ',' .. string.sub(envelope, to + 1), publisher })
  redis.call('HSET', state_key(prefix, workspace), STATE.last_moved, fresh,
    STATE.held_before_moves, digits(held_before))
  return 'recorded'
end

-- Keeps a queued event as a failed event. If the event has already left the queue, nothing changes.
local function keep_queued(prefix, now, workspace, entry, failed_most)
  local found = redis.call('XRANGE', prefix .. ':push', entry, entry)[1]
  if not found then return end
  local packed = found[2][2]
  keep_failed(prefix, workspace, now, select(2, unpack_head(packed)), packed, failed_most)
end

-- Removes an event from the queue, and the event's field from `:tries`. Returns whether the event
-- was in the queue.
local function take_out(prefix, entry, tried)
  if tried then redis.call('HDEL', prefix .. ':tries', entry) end
  return redis.call('XDEL', prefix .. ':push', entry) == 1
end

-- Stores '<attempts made> <time of the first failure, ms>' for an event. Returns false when the same string was already
-- stored.
local function note_try(prefix, entry, tries)
  if redis.call('HGET', prefix .. ':tries', entry) == tries then return false end
  redis.call('HSET', prefix .. ':tries', entry, tries)
  return true
end

-- Records the result of each event, and the event's next state, in one step. If core repeats the
-- call because the answer was lost, the deliveries are not logged again.
-- ARGV: token of the lease; maximum bytes of the failed events of the shard. Then for each event: workspace; entry id;
-- bytes of the event; the response to log with the delivery (see log.lua); next state (done | keep | hold, or 'retry <attempts made> <time of the first failure in ms>').
-- `keep` is like `done`, but also keeps the event as a failed event. The next state is `hold` when the workspace is now a
-- poll workspace.
-- Bodies: for each event, the delivery to log ('' for none).
-- Returns 'recorded' if this is the answer for all events. Otherwise returns for each event, in order:
-- - recorded
-- - lost: the token does not hold the lease, and nothing was recorded
-- - pushed, only for hold: the workspace is a push workspace again
-- - polls or disconnected, only for hold: the event was dropped for this reason. The reason is
--   logged unless the workspace no longer exists.
register('record_pushes', function(keys, args, next_body)
  local prefix = keys[1]
  local mine = holds_lease(prefix, CORES, args[1])
  local tried = redis.call('EXISTS', prefix .. ':tries') == 1
  local now, failed_most = clock(), tonumber(args[2])
  local answers, known, accepted, freed = {}, {}, {}, 0
  local is_all_recorded = true
  local function exists(workspace)
    if known[workspace] == nil then known[workspace] = redis.call('EXISTS', state_key(prefix, workspace)) == 1 end
    return known[workspace]
  end
  for i = 3, #args, 5 do
    local workspace, entry, bytes, response, next = unpack(args, i, i + 4)
    local delivery = next_body()
    local answer, is_new = 'lost', false
    local tries = mine and next ~= 'done' and string.match(next, '^retry (.*)')
    if tries then
      answer, is_new, tried = 'recorded', note_try(prefix, entry, tries), true
    elseif mine then
      answer = next == 'hold' and hold_queued(prefix, now, workspace, entry) or 'recorded'
      if next == 'keep' and exists(workspace) then keep_queued(prefix, now, workspace, entry, failed_most) end
      is_new = answer ~= 'pushed' and take_out(prefix, entry, tried)
      if is_new then freed = freed + bytes end
    end
    if is_new and delivery ~= '' and exists(workspace) then
      log_delivery(prefix, workspace, delivery, response, accepted)
      if next == 'keep' then note_exhausted(prefix, workspace, delivery) end
    end
    answers[#answers + 1] = answer
    if answer ~= 'recorded' then is_all_recorded = false end
  end
  if freed > 0 then set_queue_bytes(prefix, select(2, queue_size(prefix)) - freed) end
  return is_all_recorded and 'recorded' or answers
end, { 'allow-oom' })
