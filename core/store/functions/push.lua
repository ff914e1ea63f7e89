-- The push queue of a shard: events of push workspaces, in the order in which they
-- were published, each until it is delivered or dropped. One core at a time works
-- on it, the holder of the shard's lease; what it has done so far of an event that
-- is still to be tried again stands in the hash `:tries`, so the next holder goes
-- on where it stopped.

-- The group of the cores. No group of followers can have this name.
local CORES = '!cores'

-- Reads events of the queue. ARGV: token of the lease, the entry id to begin after
-- ('-' for the first), count.
-- Returns false when the lease is another's, else for each event {entry id,
-- workspace, event id, sequence, message id, expiry in ms or '', type, 1 when it
-- is retried, envelope, attempts made so far, when the first one failed in ms}.
register('read_pushes', function(keys, args)
  local prefix = keys[1]
  if not holds_lease(prefix, CORES, args[1]) then return false end
  local from = args[2] == '-' and '-' or '(' .. args[2]
  local answers = {}
  for i, entry in ipairs(redis.call('XRANGE', prefix .. ':push', from, '+', 'COUNT', args[3])) do
    local f = entry[2]
    local tries = redis.call('HGET', prefix .. ':tries', entry[1])
    local attempts, failed = 0, 0
    if tries then
      attempts, failed = string.match(tries, '^(%d+) (%d+)$')
    end
    answers[i] = { entry[1], f[2], f[4], f[6], f[8], f[10], f[12], tonumber(f[14]), f[16], tonumber(attempts),
      tonumber(failed) }
  end
  return answers
end)

-- Holds an event that was never sent, under a new sequence, when its workspace
-- polls. False when the workspace is pushed to (again): the event stays queued.
local function hold_queued(prefix, now, workspace, entry)
  local fields = redis.call('HMGET', prefix .. ':st:' .. workspace, 'mode', 'sequence')
  if fields[1] == 'push' then return false end
  local found = redis.call('XRANGE', prefix .. ':push', entry, entry)[1]
  if found and fields[1] == 'poll' then
    local sequence = next_sequence(fields[2], now)
    local envelope = found[2][16]
    local from, to = string.find(envelope, '"sequence":' .. found[2][6] .. ',', 1, true)
    hold(prefix, now, workspace, sequence,
      string.sub(envelope, 1, from - 1) .. '"sequence":' .. sequence .. ',' .. string.sub(envelope, to + 1))
  end
  return true
end

-- Records what became of events, and with it what is to come, in one step.
-- ARGV: token of the lease, then for each: workspace, entry id, the delivery to
-- log ('' for none), what next (done | retry | hold: its workspace polls by now),
-- attempts made, when the first one failed in ms.
-- Returns for each, in order: recorded | pushed (to be held, but its workspace is
-- pushed to again) | lost (the lease is another's, nothing was recorded).
register('record_pushes', function(keys, args)
  local prefix = keys[1]
  local mine = holds_lease(prefix, CORES, args[1])
  local now = clock()
  local answers = {}
  for i = 2, #args, 6 do
    local workspace, entry, delivery, next, attempts, failed = unpack(args, i, i + 5)
    local answer = mine and 'recorded' or 'lost'
    if mine and next == 'retry' then
      redis.call('HSET', prefix .. ':tries', entry, attempts .. ' ' .. failed)
    elseif mine and next == 'hold' and not hold_queued(prefix, now, workspace, entry) then
      answer = 'pushed'
    elseif mine then
      redis.call('XDEL', prefix .. ':push', entry)
      redis.call('HDEL', prefix .. ':tries', entry)
    end
    if answer == 'recorded' and delivery ~= '' and redis.call('EXISTS', prefix .. ':st:' .. workspace) == 1 then
      log_delivery(prefix, workspace, delivery)
    end
    answers[#answers + 1] = answer
  end
  return answers
end)

-- Logs a delivery that is of no queue. ARGV: workspace, delivery. Returns the id of
-- the entry, or '' when there is no such workspace any more.
register('log_delivery', function(keys, args)
  if redis.call('EXISTS', keys[1] .. ':st:' .. args[1]) == 0 then return '' end
  return log_delivery(keys[1], args[1], args[2])
end)

-- Reads the log of deliveries, newest first. ARGV: workspace, the entry id to
-- begin before ('+' for the newest), count, the oldest time wanted in ms.
-- Returns {entry id, delivery} for each.
register('read_deliveries', function(keys, args)
  local from = args[2] == '+' and '+' or '(' .. args[2]
  local answers = {}
  for i, entry in ipairs(redis.call('XREVRANGE', keys[1] .. ':log:' .. args[1], from, args[4], 'COUNT', args[3])) do
    answers[i] = { entry[1], entry[2][2] }
  end
  return answers
end, { 'no-writes' })
