-- The push queue of a shard: events of push workspaces, in the order in which they
-- were published, each until it is delivered or dropped. One core at a time works
-- on it, the holder of the shard's lease; what it has done so far of an event that
-- is still to be tried again stands in the hash `:tries`, so the next holder goes
-- on where it stopped.

-- The group of the cores. No group of followers can have this name.
local CORES = '!cores'

-- Entries that are read from the stream at once, so that only few are read in vain.
local READ_AT_ONCE = 20

-- Reads events of the queue. An entry has one field, packed as arguments are:
-- workspace, event id, sequence, message id, expiry in ms ('' for never), type, how
-- it is pushed (retried | once), envelope.
-- ARGV: token of the lease, the entry id to begin after ('-' for the first), how many events
-- and how many bytes of them at most, but one event at least.
-- Returns false when the lease is another's, else 1 when the queue was read to its end
-- (0 when not); a list of the workspaces of the events, each followed by its version ('0' when it is gone);
-- and three items for each event: entry id, its field, and '<attempts made so far> <when the first failed, ms>', '' for none.
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
        versions[#versions + 1] = redis.call('HGET', prefix .. ':st:' .. workspace, 'version') or '0'
      end
      local at = #answers
      answers[at + 1], answers[at + 2] = entry[1], packed
      answers[at + 3] = tried and redis.call('HGET', tries, entry[1]) or ''
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

-- Holds an event that was never sent, under a new sequence, when its workspace
-- polls. An update is given up when anything was published since and held: a later
-- one of its message may be among it, and would be undone. Of what was held from the
-- queue, as this is, the state has the last sequence (`lifted`), and that of the last
-- event before it that was published (`published`). An event whose workspace has been
-- disconnected or deleted is given up. Returns what became of it: recorded | pushed (the
-- workspace is pushed to again: the event stays queued) | polls or disconnected, by
-- which reason it was given up.
local function hold_queued(prefix, now, workspace, entry)
  local state = read_state(prefix, workspace)
  if state.mode == 'push' then return 'pushed' end
  local found = redis.call('XRANGE', prefix .. ':push', entry, entry)[1]
  if not found then return 'recorded' end
  local push = unpack_fields(found[2][2])
  if state.mode ~= 'poll' then
    if state.mode then log_drop(prefix, workspace, push[2], push[6], 'disconnected') end
    return 'disconnected'
  end
  local sequence, type, envelope = push[3], push[6], push[8]
  local key = prefix .. ':st:' .. workspace
  local fields = redis.call('HMGET', key, 'lifted', 'published')
  local published = tonumber(fields[1]) == state.held and tonumber(fields[2]) or state.held
  if type == 'message.update' and published > tonumber(sequence) then
    log_drop(prefix, workspace, push[2], type, 'polls')
    return 'polls'
  end
  local fresh = next_sequence(state.sequence, now)
  local from, to = string.find(envelope, '"sequence":' .. sequence .. ',', 1, true)
  hold(prefix, now, workspace, state, { fresh,
    string.sub(envelope, 1, from - 1) .. '"sequence":' .. fresh .. ',' .. string.sub(envelope, to + 1) })
  redis.call('HSET', key, 'lifted', fresh, 'published', digits(published))
  return 'recorded'
end

-- Takes an event out of the queue. Returns whether it was there.
local function take_out(prefix, entry, tried)
  if tried then redis.call('HDEL', prefix .. ':tries', entry) end
  return redis.call('XDEL', prefix .. ':push', entry) == 1
end

-- Notes how often an event was tried, and when that first failed. Returns whether that was not known yet.
local function note_try(prefix, entry, tries)
  if redis.call('HGET', prefix .. ':tries', entry) == tries then return false end
  redis.call('HSET', prefix .. ':tries', entry, tries)
  return true
end

-- Records what became of events, and with it what is to come, in one step. What is
-- recorded again, as its answer was lost, is not logged again.
-- ARGV: token of the lease, then for each: workspace, entry id, its bytes, the delivery to
-- log ('' for none), what next (done | retry | hold: its workspace polls by now),
-- attempts made, when the first one failed in ms.
-- Returns for each, in order: recorded | pushed (to be held, but its workspace is
-- pushed to again) | polls or disconnected (to be held, but given up for that reason,
-- which is logged) | lost (the lease is another's, nothing was recorded).
register('record_pushes', function(keys, args)
  local prefix = keys[1]
  local mine = holds_lease(prefix, CORES, args[1])
  local tried = redis.call('EXISTS', prefix .. ':tries') == 1
  local now = clock()
  local answers, exists, freed = {}, {}, 0
  for i = 2, #args, 7 do
    local workspace, entry, bytes, delivery, next, attempts, failed = unpack(args, i, i + 6)
    local answer, is_new = 'lost', false
    if mine and next == 'retry' then
      answer, is_new, tried = 'recorded', note_try(prefix, entry, attempts .. ' ' .. failed), true
    elseif mine then
      answer = next == 'hold' and hold_queued(prefix, now, workspace, entry) or 'recorded'
      is_new = answer ~= 'pushed' and take_out(prefix, entry, tried)
      if is_new then freed = freed + bytes end
    end
    if is_new and delivery ~= '' then
      if exists[workspace] == nil then exists[workspace] = redis.call('EXISTS', prefix .. ':st:' .. workspace) == 1 end
      if exists[workspace] then log_delivery(prefix, workspace, delivery) end
    end
    answers[#answers + 1] = answer
  end
  if freed > 0 then set_queue_bytes(prefix, select(2, queue_size(prefix)) - freed) end
  return answers
end, { 'allow-oom' })
