-- Returns the key of the list that records which events were sent again. Each line is '<time, ms> <event id> <name of
-- the caller's token>', the newest last.
local function again_key(prefix, workspace)
  return prefix .. ':again:' .. workspace
end

-- Puts failed events back at the end of the push queue, with unchanged bytes. The same step removes these events from
-- the failed events, so only one call queues an event even if several calls name it. The attempts are counted from 1
-- again, because the event has a new entry in the queue.
-- ARGV: maximum length and maximum bytes of the push queue, workspace, name of the caller's token, then the ids of the
-- events.
-- Returns for each event, in order: queued; expired; not-kept; overloaded (the queue is full, and the event is still a
-- failed event).
-- Returns false when the workspace is not a push workspace.
register('send_again', function(keys, args)
  local prefix, workspace = keys[1], args[3]
  if redis.call('HGET', state_key(prefix, workspace), STATE.mode) ~= 'push' then return false end
  local now, again = clock(), again_key(prefix, workspace)
  local order, events = failed_keys(prefix, workspace)
  local queue = open_queue(prefix, tonumber(args[1]), tonumber(args[2]), '')

  local function send(event)
    local failed = tonumber(redis.call('ZSCORE', order, event) or 0)
    local packed = failed > failed_cutoff(now) and redis.call('HGET', events, event)
    if not packed then return 'not-kept' end
    local _, _, _, _, expires = unpack_head(packed)
    if expires ~= '' and tonumber(expires) <= now / 1000 then return 'expired' end
    if not queue.add(packed, '') then return 'overloaded' end
    forget_failed(prefix, workspace, event)
    redis.call('RPUSH', again, digits(now / 1000) .. ' ' .. event .. ' ' .. args[4])
    return 'queued'
  end

  local answers = {}
  for i = 5, #args do answers[#answers + 1] = send(args[i]) end
  queue.close()
  if redis.call('LLEN', again) > 0 then
    redis.call('LTRIM', again, -@SENT_AGAIN_MAX@, -1)
    if outlive(again, LOGGED_SECONDS) then drop_old_lines(again, '^(%d+)') end
  end
  return answers
end)
