-- Held events. The stream of a workspace is addressed by sequence: the id of an
-- entry is "<sequence>-0", and a cursor is the sequence of the last event served.

local function sequence_of(entry)
  return tonumber(string.match(entry[1], '^%d+'))
end

-- Drops what is older than a day and remembers the highest sequence that went,
-- in the field `gone`. When the whole stream went by itself, all of it did.
local function drop_expired(prefix, workspace, now, held, gone)
  local stream = prefix .. ':held:' .. workspace
  local cutoff = now - HOLD_US
  -- The oldest first: looking backwards for what is not there goes through all there is.
  local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
  local through = gone
  if not oldest then
    through = math.max(gone, held)
  elseif sequence_of(oldest) <= cutoff then
    through = sequence_of(redis.call('XREVRANGE', stream, digits(cutoff), '-', 'COUNT', 1)[1])
    redis.call('XTRIM', stream, 'MINID', digits(cutoff + 1))
  end
  if through > gone then
    redis.call('HSET', prefix .. ':st:' .. workspace, 'gone', digits(through))
    return through
  end
  return gone
end

-- A poll as the log of deliveries has it.
local POLL_DELIVERY = '["","poll",0,"success",200,0,""]'

local function page(prefix, now, workspace, from, limit)
  local fields = redis.call('HMGET', prefix .. ':st:' .. workspace, 'held', 'gone', 'served', 'failing')
  local held, gone, served = tonumber(fields[1] or 0), tonumber(fields[2] or 0), tonumber(fields[3] or 0)
  gone = drop_expired(prefix, workspace, now, held, gone)
  log_delivery(prefix, workspace, POLL_DELIVERY)
  if from == 'latest' then
    note_poll(prefix, workspace, now, held, served, held, fields[4])
    return { 'page', digits(held), 0, 0, '' }
  end
  local start = from == 'oldest' and '-' or '(' .. from
  local entries = redis.call('XRANGE', prefix .. ':held:' .. workspace, start, '+', 'COUNT', limit + 1)
  local more = #entries > limit and 1 or 0
  local events = {}
  for i = 1, #entries - more do
    events[i] = entries[i][2][2]
  end
  local cursor = #events > 0 and string.match(entries[#events][1], '^%d+') or ''
  -- Who polls after a cursor has what came before it.
  note_poll(prefix, workspace, now, held, served, tonumber(cursor) or tonumber(from) or 0, fields[4])
  local gap = from ~= 'oldest' and tonumber(from) < gone and 1 or 0
  return { 'page', cursor, more, gap, table.concat(events, ',') }
end

-- A poll: check 6, then its page.
-- ARGV: limit a second of a workspace, then for each poll: workspace, version of
-- its record, what is wanted (page, or count: only count it against the limit),
-- from (oldest | latest | a cursor), limit of the page.
-- Returns for each, in order: {page, last sequence of the page or '', 1 when more
-- wait, 1 when events after the cursor expired, the events joined by commas} |
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
