-- Reads what the store contains about one event: the event itself if it is held, queued or kept as a failed event, and
-- the event's entries in the logs. Held events and queued events have no index by event id. But an event id contains
-- the time at which the event was published, and the clock of all cores follows the clock of Redis. So the function
-- looks only at the events that were stored soon after the time in the id.

do
  -- Maximum milliseconds from the creation of an event's id until the event is stored, e.g. while the store is slow.
  local STORED_WITHIN_MS = 60000
  -- Maximum error of a core's clock, relative to the clock of Redis.
  local CLOCK_ERROR_MS = 250
  -- Maximum number of events, and maximum bytes of events, that one search reads.
  local SEARCH_MAX = 1500
  local SEARCH_MAX_BYTES = 4194304
  local SEARCH_AT_ONCE = 20
  -- Number of characters before the event id: `{"id":"` in an event, and `["` in a logged delivery.
  local BEFORE_ID, BEFORE_LOGGED_ID = 7, 2

  local function is_id_at(text, before, event)
    return string.sub(text, before + 1, before + #event) == event
  end

  -- Returns the first entry of a stream between two ids for which `is_wanted` returns true.
  local function search(key, from, to, is_wanted)
    local left, bytes = SEARCH_MAX, SEARCH_MAX_BYTES
    while left > 0 and bytes > 0 do
      local entries = redis.call('XRANGE', key, from, to, 'COUNT', math.min(left, SEARCH_AT_ONCE))
      for _, entry in ipairs(entries) do
        if is_wanted(entry[2][2]) then return entry end
        bytes = bytes - #entry[2][2]
      end
      if #entries < SEARCH_AT_ONCE then return end
      from, left = '(' .. entries[#entries][1], left - #entries
    end
  end

  local read_search_state = state_reader('last_moved', 'held_before_moves', 'served_through')

  -- Returns the entry of a held event, or nil. An event that was moved from the push queue got its sequence when it was
  -- moved.
  local function find_held(prefix, workspace, event, ms, state)
    local key = held_key(prefix, workspace)
    local cutoff = clock() - HOLD_US + 1
    local function find(from, to)
      if to < cutoff then return end
      return search(key, digits(math.max(from, cutoff)), digits(to),
        function(json) return is_id_at(json, BEFORE_ID, event) end)
    end
    return find((ms - CLOCK_ERROR_MS) * 1000, (ms + STORED_WITHIN_MS) * 1000)
      or state.last_moved and find((state.held_before_moves or 0) + 1, state.last_moved)
  end

  -- Returns the entry of a queued event, or nil. The queue contains the events of all workspaces of the shard.
  local function find_queued(prefix, workspace, event, ms)
    local head = struct.pack('<I4c0I4c0', #workspace, workspace, #event, event)
    return search(prefix .. ':push', digits(math.max(ms - CLOCK_ERROR_MS, 0)), digits(ms + STORED_WITHIN_MS),
      function(packed) return string.sub(packed, 1, #head) == head end)
  end

  -- Returns the log lines of the polls that returned the event with this number, oldest first.
  local function polls_of(prefix, workspace, number)
    local found = {}
    for _, line in ipairs(redis.call('LRANGE', prefix .. ':polls:' .. workspace, 0, -1)) do
      local events, first = string.match(line, '^%S+ %S+ %S+ (%d+) %d+ (%d+)$')
      if first and number >= tonumber(first) and number < first + events then found[#found + 1] = line end
    end
    return found
  end

  -- Returns the logged attempts and drops of an event, oldest first, each as {entry id, delivery, response}. The
  -- response is '' for none.
  local function attempts_of(prefix, workspace, event)
    local found, cutoff = {}, responses_cutoff(clock())
    for _, entry in ipairs(redis.call('XRANGE', prefix .. ':log:' .. workspace, '-', '+')) do
      local id, delivery = entry[1], entry[2][2]
      if is_id_at(delivery, BEFORE_LOGGED_ID, event) then
        local is_fresh = tonumber(string.match(id, '^%d+')) >= cutoff
        local response = is_fresh and redis.call('XRANGE', responses_key(prefix, workspace), id, id)[1]
        found[#found + 1] = { id, delivery, response and response[2][2] or '' }
      end
    end
    return found
  end

  -- Returns for each time at which the event was sent again, oldest first: {time in ms, name of the token}.
  local function sends_of(prefix, workspace, event)
    local found = {}
    for _, line in ipairs(redis.call('LRANGE', again_key(prefix, workspace), 0, -1)) do
      local ms, sent, by = string.match(line, '^(%d+) (%S+) (.*)$')
      if sent == event then found[#found + 1] = { ms, by } end
    end
    return found
  end

  -- ARGV: workspace, event id, time of the event id in ms. Returns a list:
  -- - {JSON, publisher, 1 if a poll returned the event, otherwise 0} if the event is held, otherwise {}
  -- - {packed event, publisher} if the event is queued, otherwise {}
  -- - {packed event, time of the failure in ms} if the event is kept as a failed event, otherwise {}
  -- - the lines of the polls that returned the event; empty unless the event is held
  -- - the attempts and drops, as attempts_of returns them
  -- - the times at which the event was sent again, as sends_of returns them
  register('read_event', function(keys, args)
    local prefix, workspace, event, ms = keys[1], args[1], args[2], tonumber(args[3])
    local state = read_search_state(prefix, workspace)
    local sends, polls, held, queued, kept = sends_of(prefix, workspace, event), {}, {}, {}, {}
    local entry = find_held(prefix, workspace, event, ms, state)
    if entry then
      local number, publisher = number_of(entry)
      polls = polls_of(prefix, workspace, tonumber(number))
      local is_fetched = #polls > 0 or sequence_of(entry) <= (state.served_through or 0)
      held = { entry[2][2], publisher, is_fetched and 1 or 0 }
    else
      local sent = sends[#sends] and tonumber(sends[#sends][1])
      entry = sent and find_queued(prefix, workspace, event, sent) or find_queued(prefix, workspace, event, ms)
      if entry then queued = { entry[2][2], entry[2][4] or '' } end
    end
    local order, events = failed_keys(prefix, workspace)
    local failed = redis.call('ZSCORE', order, event)
    if failed and tonumber(failed) > failed_cutoff(clock()) then
      kept = { redis.call('HGET', events, event), failed }
    end
    return { held, queued, kept, polls, attempts_of(prefix, workspace, event), sends }
  end, { 'no-writes' })
end
