-- Held events. The stream of a workspace is addressed by sequence: the id of an
-- entry is "<sequence>-0", and a cursor is the sequence of the last event served.

local function sequence_of(entry)
  return tonumber(string.match(entry[1], '^%d+'))
end

-- Pages are read right after the function that says where they begin: what expires
-- in between must still be there.
local TRIM_LATER_US = 10 * MICROSECONDS

-- Drops what has been older than a day for a while, and remembers the highest
-- sequence that expired, in the field `gone`. When the whole stream went by itself,
-- all of it did. Returns `gone`.
local function drop_expired(prefix, workspace, now, held, gone)
  local stream = prefix .. ':held:' .. workspace
  local cutoff = now - HOLD_US
  -- The oldest first: looking backwards for what is not there goes through all there is.
  local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
  local through = gone
  if not oldest then
    through = math.max(gone, held)
  elseif sequence_of(oldest) <= cutoff then
    through = math.max(gone, sequence_of(redis.call('XREVRANGE', stream, digits(cutoff), '-', 'COUNT', 1)[1]))
    redis.call('XTRIM', stream, 'MINID', digits(cutoff - TRIM_LATER_US))
  end
  if through > gone then redis.call('HSET', prefix .. ':st:' .. workspace, 'gone', digits(through)) end
  return through
end

-- A poll as the log of deliveries has it.
local POLL_DELIVERY = '["","poll",0,"success",200,0,""]'

local function page(prefix, now, workspace, from)
  local fields = redis.call('HMGET', prefix .. ':st:' .. workspace, 'held', 'gone', 'served', 'failing')
  local held, gone, served = tonumber(fields[1] or 0), tonumber(fields[2] or 0), tonumber(fields[3] or 0)
  gone = drop_expired(prefix, workspace, now, held, gone)
  log_delivery(prefix, workspace, POLL_DELIVERY)
  if from == 'latest' then
    note_poll(prefix, workspace, now, held, served, held, fields[4])
    return { 'latest', digits(held) }
  end
  -- Who polls after a cursor has what came before it.
  local after = tonumber(from) or 0
  note_poll(prefix, workspace, now, held, served, after, fields[4])
  local gap = from ~= 'oldest' and after < gone and 1 or 0
  local start = math.max(after, gone)
  return start < held and { 'read', digits(start), gap } or { 'empty', gap }
end

-- A poll: check 6, then where its page begins. The page itself is a plain XRANGE
-- right after: a hundred events are not worth taking through Lua.
-- ARGV: limit a second of a workspace, then for each poll: workspace, version of
-- its record, what is wanted (page, or count: only count it against the limit),
-- from (oldest | latest | a cursor).
-- Returns for each, in order: {read, the sequence to read after, 1 when events after
-- the cursor expired} | {empty, the same} | {latest, the newest sequence} |
-- {counted} | {stale} | {wait, microseconds}.
register('page', function(keys, args)
  local prefix = keys[1]
  local now = clock()
  local limit = tonumber(args[1])
  local answers = {}
  for i = 2, #args, 4 do
    local workspace, version, want, from = unpack(args, i, i + 3)
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
        answer = page(prefix, now, workspace, from)
      end
    end
    answers[#answers + 1] = answer
  end
  return answers
end)

-- Notes what pages have served. ARGV: for each: workspace, last sequence of the page.
-- Returns 1 for each.
register('note_served', function(keys, args)
  local prefix = keys[1]
  local answers = {}
  for i = 1, #args, 2 do
    local workspace, sequence = args[i], tonumber(args[i + 1])
    local state = prefix .. ':st:' .. workspace
    local fields = redis.call('HMGET', state, 'held', 'served')
    if fields[1] and sequence > tonumber(fields[2] or 0) then
      redis.call('HSET', state, 'served', digits(sequence))
      if sequence >= tonumber(fields[1]) then redis.call('ZREM', prefix .. ':due', workspace) end
    end
    answers[#answers + 1] = 1
  end
  return answers
end)

-- The next sequence of a workspace whose last one is given: the clock, or one more
-- than the last where the clock has not moved on.
local function next_sequence(last, now)
  return digits(math.max(tonumber(last or 0) + 1, now))
end

local function hold(prefix, now, workspace, sequence, envelope)
  local state = prefix .. ':st:' .. workspace
  local fields = redis.call('HMGET', state, 'held', 'gone', 'served')
  local held = tonumber(fields[1] or 0)
  drop_expired(prefix, workspace, now, held, tonumber(fields[2] or 0))
  if held <= tonumber(fields[3] or 0) then begin_waiting(prefix, workspace, now) end
  redis.call('HSET', state, 'sequence', sequence, 'held', sequence)
  local stream = prefix .. ':held:' .. workspace
  redis.call('XADD', stream, sequence .. '-0', 'e', envelope)
  outlive(stream, 86400)
end

-- Publishes events: mints each sequence and appends the event in the same step,
-- so that no later number is ever seen first.
-- ARGV: seconds an idempotency key is remembered, then for each event: workspace,
-- idempotency key ('' for none), event id, message id, expiry in ms ('' for
-- never), type, how a push workspace gets it (retried | once: pushed, with or
-- without retries; direct: the caller pushes it), the envelope before its
-- sequence, and after it.
-- Returns for each, in order: {published | repeated, event id, sequence, message
-- id, expiry, and when published the mode by which the workspace gets it} | {unknown} (no such workspace, or none with a bridge).
register('publish', function(keys, args)
  local prefix = keys[1]
  local now = clock()
  local answers = {}
  local queued = false
  for i = 2, #args, 9 do
    local workspace, key, event, message, expires, type, how, before, after = unpack(args, i, i + 8)
    local state = prefix .. ':st:' .. workspace
    local fields = redis.call('HMGET', state, 'mode', 'sequence')
    local mode = fields[1]
    local known = key ~= '' and mode and redis.call('GET', prefix .. ':key:' .. workspace .. ':' .. key)
    if mode ~= 'poll' and mode ~= 'push' then
      answers[#answers + 1] = { 'unknown' }
    elseif known then
      answers[#answers + 1] = { 'repeated', cmsgpack.unpack(known) }
    else
      local sequence = next_sequence(fields[2], now)
      if mode == 'poll' then
        hold(prefix, now, workspace, sequence, before .. sequence .. after)
      else
        redis.call('HSET', state, 'sequence', sequence)
        if how ~= 'direct' then
          redis.call('XADD', prefix .. ':push', '*', 'w', workspace, 'i', event, 's', sequence, 'm', message,
            'x', expires, 't', type, 'r', how == 'retried' and 1 or 0, 'e', before .. sequence .. after)
          queued = true
        end
      end
      if key ~= '' then
        redis.call('SET', prefix .. ':key:' .. workspace .. ':' .. key,
          cmsgpack.pack(event, sequence, message, expires), 'EX', args[1])
      end
      answers[#answers + 1] = { 'published', event, sequence, message, expires, mode }
    end
  end
  if queued then redis.call('PUBLISH', prefix .. ':wake:push', '') end
  return answers
end)
