-- Polls and publications of held events, which are kept as blocks.lua says. The
-- state of a workspace (`:st:`) has the last sequence that was held (`held`), the
-- highest that expired (`gone`), the lowest left (`oldest`) and the last served (`served`).

-- A page of up to so many bytes is answered as it is, of a larger one where it is: up
-- to here the way through Lua is shorter than a second call.
local PAGE_BYTES = 8192

local function page(prefix, now, workspace, from, limit)
  local fields = redis.call('HMGET', prefix .. ':st:' .. workspace, 'held', 'gone', 'served', 'failing', 'oldest',
    'run', 'polled')
  local held, gone, served = tonumber(fields[1] or 0), tonumber(fields[2] or 0), tonumber(fields[3] or 0)
  gone = drop_expired(prefix, workspace, now, held, gone, tonumber(fields[5] or 0))
  local function note(through, events)
    local run = log_poll(prefix, workspace, now, fields[6], fields[7], events)
    note_poll(prefix, workspace, now, held, served, through, fields[4], run)
  end
  if from == 'latest' then
    note(held, 0)
    return { 'page', digits(held), 0, 0 }
  end
  local after = from == 'oldest' and 0 or tonumber(from)
  local pieces, last, events, more, lacks = {}, nil, 0, 0, false
  if held > math.max(after, gone) then
    local blocks, count = blocks_after(prefix, workspace, math.max(after, gone), limit)
    local found, bytes
    found, bytes, last = ranges(prefix, workspace, blocks, limit)
    for _, range in ipairs(found) do
      local piece = bytes > PAGE_BYTES and range or redis.call('GETRANGE', unpack(range))
      if piece == range or #piece == range[3] - range[2] + 1 then pieces[#pieces + 1] = piece else lacks = true end
    end
    events = math.min(count, limit)
    more = count > limit and 1 or 0
  end
  -- Who polls after a cursor has what came before it.
  -- What is gone waits no more.
  note(math.max(last or after, gone), events)
  -- What a block does not have that its index says is gone, too.
  local gap = from ~= 'oldest' and (after < gone or lacks) and 1 or 0
  return { 'page', last and digits(last) or '', more, gap, unpack(pieces) }
end

-- A poll: check 6, then its page.
-- ARGV: limit a second of a workspace, then for each poll: workspace, version of
-- its record, what is wanted (page, or count: only count it against the limit),
-- from (oldest | latest | a cursor), limit of the page.
-- Returns for each, in order: {page, last sequence of the page or '', 1 when more
-- wait, 1 when events after the cursor expired, the events in pieces, each joined by
-- commas; of a large page, where each piece is: {key, first byte, last byte}} |
-- {counted} | {stale} | {wait, microseconds}.
register('page', function(keys, args)
  local prefix = keys[1]
  local now = clock()
  local limit = tonumber(args[1])
  local answers = {}
  for i = 2, #args, 5 do
    local workspace, version, want, from, most = unpack(args, i, i + 4)
    local answer
    if redis.call('HGET', prefix .. ':st:' .. workspace, 'version') ~= version then
      answer = { 'stale' }
    else
      local wait = admit(prefix .. ':rate:' .. workspace, now, limit)
      if wait > 0 then
        answer = { 'wait', wait }
      elseif want == 'count' then
        answer = { 'counted' }
      else
        answer = page(prefix, now, workspace, from, tonumber(most))
      end
    end
    answers[#answers + 1] = answer
  end
  return answers
end)

-- The next sequence of a workspace whose last one is given: the clock, or one more
-- than the last where the clock has not moved on.
local function next_sequence(last, now)
  return digits(math.max(tonumber(last or 0) + 1, now))
end

-- What publishing needs of a workspace.
local function read_state(prefix, workspace)
  local fields = redis.call('HMGET', prefix .. ':st:' .. workspace, 'mode', 'sequence', 'held', 'gone', 'served', 'oldest')
  return {
    mode = fields[1],
    sequence = fields[2],
    held = tonumber(fields[3] or 0),
    gone = tonumber(fields[4] or 0),
    served = tonumber(fields[5] or 0),
    oldest = tonumber(fields[6] or 0),
  }
end

-- Holds events, {sequence, JSON} each, that have the next sequences of a workspace, whose state was just read.
local function hold(prefix, now, workspace, state, fresh)
  local gone = drop_expired(prefix, workspace, now, state.held, state.gone, state.oldest)
  if state.held <= math.max(state.served, gone) then begin_waiting(prefix, workspace, now) end
  local key, last = prefix .. ':st:' .. workspace, fresh[#fresh][1]
  if state.held <= gone then
    redis.call('HSET', key, 'sequence', last, 'held', last, 'oldest', fresh[1][1])
  else
    redis.call('HSET', key, 'sequence', last, 'held', last)
  end
  append_to_blocks(prefix, workspace, fresh)
end

-- Publishes events: mints each sequence and appends the event in the same step,
-- so that no later number is ever seen first.
-- ARGV: seconds an idempotency key is remembered, longest push queue and its most bytes (past
-- either, events are dropped, and logged so, as overloaded), then for each event: workspace,
-- idempotency key ('' for none), event id, message id, expiry in ms ('' for
-- never), type, how a push workspace gets it (retried | once: pushed, with or
-- without retries; direct: the caller pushes it), the envelope before its
-- sequence, and after it.
-- Returns for each, in order: {published | repeated, event id, sequence, message
-- id, expiry, and when published the mode by which the workspace gets it, or full:
-- it was dropped} | {unknown} (no such workspace, or none with a bridge).
register('publish', function(keys, args)
  local prefix = keys[1]
  local now = clock()
  local answers = {}
  -- What the call has done to a workspace so far, by which it is read and written once.
  local states = {}
  local most, mostBytes = tonumber(args[2]), tonumber(args[3])
  local length, bytes = queue_size(prefix)
  local queued = 0
  for i = 4, #args, 9 do
    local workspace, key, event, message, expires, type, how, before, after = unpack(args, i, i + 8)
    local state = states[workspace]
    if not state then
      state = read_state(prefix, workspace)
      state.fresh = {}
      states[workspace] = state
    end
    local mode = state.mode
    local known = key ~= '' and mode and redis.call('GET', prefix .. ':key:' .. workspace .. ':' .. key)
    if mode ~= 'poll' and mode ~= 'push' then
      answers[#answers + 1] = { 'unknown' }
    elseif known then
      answers[#answers + 1] = { 'repeated', cmsgpack.unpack(known) }
    else
      local sequence = next_sequence(state.sequence, now)
      state.sequence, state.minted = sequence, true
      if mode == 'poll' then
        state.fresh[#state.fresh + 1] = { sequence, before .. sequence .. after }
      elseif how ~= 'direct' then
        local packed = pack_fields({ workspace, event, sequence, message, expires, type, how, before .. sequence .. after })
        if length + queued < most and bytes + #packed <= mostBytes then
          redis.call('XADD', prefix .. ':push', '*', 'p', packed)
          queued, bytes = queued + 1, bytes + #packed
        else
          mode = 'full'
          log_drop(prefix, workspace, event, type, 'overloaded')
        end
      end
      if key ~= '' then
        redis.call('SET', prefix .. ':key:' .. workspace .. ':' .. key,
          cmsgpack.pack(event, sequence, message, expires), 'EX', args[1])
      end
      answers[#answers + 1] = { 'published', event, sequence, message, expires, mode }
    end
  end
  for workspace, state in pairs(states) do
    if #state.fresh > 0 then
      hold(prefix, now, workspace, state, state.fresh)
    elseif state.minted then
      redis.call('HSET', prefix .. ':st:' .. workspace, 'sequence', state.sequence)
    end
  end
  if queued > 0 then
    set_queue_bytes(prefix, bytes)
    redis.call('PUBLISH', prefix .. ':wake:push', '')
  end
  return answers
end)
