-- The steps of a migration between formats 1 and 2. Only held events and the facts about them have different forms: see
-- blocks.lua, held.lua and state.lua. All other differences are keys and fields that exist in only one of the formats.
--
-- Each step is atomic, and continues where the previous step stopped, even after a crash. Within a workspace, the
-- oldest events are converted first. In the same step, the converted events are counted in the shard's hash
-- `:migration`, so the counts stay correct when an answer is lost.

local function migration_key(prefix)
  return prefix .. ':migration'
end

-- Adds to the counts of the shard's migration. `counts` contains the numbers of events that were converted (`converted`);
-- that were older than a day, so neither format serves them (`expired`); and that could not be converted (`unserved`).
local function add_counts(prefix, counts)
  for name, count in pairs(counts) do
    if count > 0 then redis.call('HINCRBY', migration_key(prefix), name, count) end
  end
end

-- In format 1, each fact about held events is a separate field of the state. This list contains these fields, in the
-- order of HELD_FACTS. Format 1 does not store the last fact, `total_before`; 0 is correct for every stream.
local FACTS_IN_1 = { 'gone', 'oldest', 'held', 'total', 'largest', 'served' }

-- Reads the facts about held events of a workspace, in either format. Also returns whether the facts are stored as in
-- format 1. A migration to format 2 converts the facts before the workspace's events, and a migration to format 1
-- converts them after the events.
local function read_facts(prefix, workspace)
  local key = state_key(prefix, workspace)
  local packed, state = redis.call('HGET', key, STATE.held_facts), {}
  local facts = packed and { unpack_facts(packed) } or redis.call('HMGET', key, unpack(FACTS_IN_1))
  for i, name in ipairs(HELD_FACTS) do state[name] = tonumber(facts[i]) or 0 end
  return state, not packed
end

local function facts_to_2(prefix, workspace)
  local key, state, is_in_1 = state_key(prefix, workspace), read_facts(prefix, workspace)
  if not is_in_1 then return end
  if redis.call('HDEL', key, unpack(FACTS_IN_1)) > 0 then redis.call('HSET', key, STATE.held_facts, pack_facts(state)) end
end

local read_assigned = state_reader('last_sequence')

local function facts_to_1(prefix, workspace)
  local key, state, is_in_1 = state_key(prefix, workspace), read_facts(prefix, workspace)
  if is_in_1 then return end
  local last = math.max(state.last_held, read_assigned(prefix, workspace).last_sequence or 0)
  redis.call('HSET', key, STATE.last_sequence, digits(last))
  for i, name in ipairs(HELD_FACTS) do
    local field = FACTS_IN_1[i]
    if field and state[name] > 0 then redis.call('HSET', key, field, digits(state[name])) end
  end
  redis.call('HDEL', key, STATE.held_facts)
end

-- Returns the sequence of the last event in a stream; 0 if it is empty.
local function last_in_stream(key)
  local entry = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  return entry and sequence_of(entry) or 0
end

-- The value of `largest_held` for a stream that was written by a build without this field.
local LARGEST_UNKNOWN = 65536

-- Calls `visit(sequence, first, last)` for each event of a block. `first` and `last` are the positions of the event's
-- JSON.
local function each_event(index, visit)
  local first = 1
  for i = 1, #index / INDEX_BYTES do
    local last = end_at(index, i)
    visit(sequence_at(index, i), first, last)
    first = last + 2
  end
end

-- Moves the events of one block to the stream. `state` contains the facts about held events, and as `last` the sequence
-- of the last event in the stream. Returns the block's bytes.
local function move_block(prefix, workspace, now, state, index, id)
  local key = held_key(prefix, workspace)
  local block = redis.call('GET', block_key(prefix, workspace, index)) or ''
  local counts, cutoff = { converted = 0, expired = 0, unserved = 0 }, now - HOLD_US
  each_event(index, function(sequence, first, last)
    -- Format 2 can serve an event only if its sequence is higher than those of all expired events and of all events in
    -- the stream.
    local is_servable = last <= #block and sequence > state.expired_through and sequence > state.last
    if is_servable then
      state.held_total, state.last = state.held_total + 1, sequence
      state.largest_held = math.max(state.largest_held, last - first + 1)
      redis.call('XADD', key, digits(sequence), digits(state.held_total), string.sub(block, first, last))
    elseif last > #block and state.last == 0 then
      -- The JSON is missing. This value makes the next poll report a gap.
      state.expired_through = math.max(state.expired_through, sequence)
    end
    local name = sequence <= cutoff and 'expired' or is_servable and 'converted' or 'unserved'
    counts[name] = counts[name] + 1
  end)
  remove_block(prefix, workspace, index, id)
  add_counts(prefix, counts)
  return #block
end

local read_push_outage = state_reader('mode', 'pushes_failing_ms', 'push_outage_ms')

-- Corrects the fields about failed pushes. Cores of format 1 do not update these fields, so they are stale if the data
-- was in format 2 before.
local function tidy_push_outage(prefix, workspace, now)
  local state = read_push_outage(prefix, workspace)
  if not state.pushes_failing_ms then return end
  if state.mode ~= 'push' then
    redis.call('HDEL', state_key(prefix, workspace), STATE.pushes_failing_ms, STATE.push_outage_ms)
  elseif not state.push_outage_ms then
    redis.call('ZADD', prefix .. ':due', 'NX', digits(now / 1000), workspace)
  end
end

-- Converts held events of a workspace from format 1 to format 2. ARGV: workspace, bytes after which to stop. Returns 1
-- when everything is converted, otherwise 0.
register('to_2', function(keys, args)
  local prefix, workspace, left = keys[1], args[1], tonumber(args[2])
  local now, key = clock(), held_key(prefix, workspace)
  facts_to_2(prefix, workspace)
  local index, id = oldest_block(prefix, workspace)
  if index then
    local state = read_facts(prefix, workspace)
    state.last = last_in_stream(key)
    if state.last > 0 and state.largest_held == 0 then state.largest_held = LARGEST_UNKNOWN end
    while index and left > 0 do
      left = left - move_block(prefix, workspace, now, state, index, id)
      index, id = oldest_block(prefix, workspace)
    end
    redis.call('HSET', state_key(prefix, workspace), STATE.held_facts, pack_facts(state))
    if state.last > 0 then redis.call('EXPIREAT', key, digits((state.last + HOUR_US + HOLD_US) / MICROSECONDS)) end
  end
  if index then return 0 end
  tidy_push_outage(prefix, workspace, now)
  return 1
end, { 'allow-oom' })

-- Results of deliveries that a core of format 1 cannot read.
local NEW_RESULTS = { outage = true }

-- Calls `visit` with the id of each entry of a workspace's log that a core of format 1 cannot read.
local function each_new_result(prefix, workspace, visit)
  for _, entry in ipairs(redis.call('XRANGE', prefix .. ':log:' .. workspace, '-', '+')) do
    if NEW_RESULTS[attempt_of(entry[2][2])[4]] then visit(entry[1]) end
  end
end

local read_run = state_reader('poll_run', 'polled_us')

-- Ends the run of polls in progress (see log.lua), because cores of format 1 do not continue it.
local function end_poll_run(prefix, workspace)
  local state = read_run(prefix, workspace)
  if not state.poll_run then return end
  local key = prefix .. ':polls:' .. workspace
  redis.call('RPUSH', key, state.poll_run .. ' ' .. digits((state.polled_us or 0) / 1000) .. ' 0')
  redis.call('LTRIM', key, -@POLLS_LOGGED_MAX@, -1)
  outlive(key, @LOGGED_SECONDS@)
  redis.call('HDEL', state_key(prefix, workspace), STATE.poll_run)
end

local ENTRIES_AT_ONCE = 16

-- Converts held events of a workspace from format 2 to format 1. ARGV and result: as to_2.
register('to_1', function(keys, args)
  local prefix, workspace, left = keys[1], args[1], tonumber(args[2])
  local key, cutoff = held_key(prefix, workspace), clock() - HOLD_US
  while left > 0 do
    local entries = redis.call('XRANGE', key, '-', '+', 'COUNT', ENTRIES_AT_ONCE)
    if #entries == 0 then
      redis.call('UNLINK', key)
      facts_to_1(prefix, workspace)
      end_poll_run(prefix, workspace)
      each_new_result(prefix, workspace, function(id) redis.call('XDEL', prefix .. ':log:' .. workspace, id) end)
      return 1
    end
    local fresh, counts = {}, { converted = 0, expired = 0 }
    for i, entry in ipairs(entries) do
      fresh[i], left = { sequence_of(entry), entry[2][2] }, left - #entry[2][2]
      local name = fresh[i][1] <= cutoff and 'expired' or 'converted'
      counts[name] = counts[name] + 1
    end
    append_to_blocks(prefix, workspace, fresh)
    redis.call('XTRIM', key, 'MINID', digits(fresh[#fresh][1] + 1))
    add_counts(prefix, counts)
  end
  return 0
end, { 'allow-oom' })

-- Reads a page of the workspaces of a shard. ARGV: the element of `:all` to start after ('' for the first page), count.
-- Returns the elements.
register('read_all', function(keys, args)
  local after = args[1] == '' and '-' or '(' .. args[1]
  return redis.call('ZRANGE', keys[1] .. ':all', after, '+', 'BYLEX', 'LIMIT', 0, args[2])
end, { 'no-writes' })

-- Adds up the bytes of the push queue, because format 1 does not store their sum. ARGV: the entry id to start after ('-'
-- for the first entry), total bytes of the entries before that entry. At the end of the queue, stores the sum, and
-- returns ''. Otherwise returns {the entry id to continue after, bytes}.
register('count_queue', function(keys, args)
  local prefix, sum = keys[1], tonumber(args[2])
  local entries = redis.call('XRANGE', prefix .. ':push', args[1] == '-' and '-' or '(' .. args[1], '+', 'COUNT', 200)
  for _, entry in ipairs(entries) do sum = sum + #entry[2][2] end
  if #entries == 200 then return { entries[200][1], digits(sum) } end
  set_queue_bytes(prefix, sum)
  return ''
end, { 'allow-oom' })

-- The keys of a workspace that exist only in format 2. When a core of format 1 deletes a workspace, it does not delete
-- these keys.
local NEW_KEYS = { 'held', 'polls', 'changes', 'sends', 'tests', 'operators', 'tested', 'responses', 'hour', 'refused',
  'again', 'failed', 'failedevents' }

-- Removes the keys that cores of format 1 did not delete with their workspaces, because the keys came from an earlier
-- time in format 2. ARGV: the element of `:states` to start after ('' for the first). Returns the element to continue
-- after; '' at the end. After the last call, the next core that starts checks the states of all workspaces.
register('sweep_deleted', function(keys, args)
  local prefix, states = keys[1], keys[1] .. ':states'
  local after = args[1] == '' and '-' or '(' .. args[1]
  local elements = redis.call('ZRANGE', states, after, '+', 'BYLEX', 'LIMIT', 0, 200)
  for _, element in ipairs(elements) do
    local workspace = string.match(element, '^%d+:%d+:(.*)$')
    if workspace and redis.call('EXISTS', prefix .. ':ws:' .. workspace) == 0 then
      for _, name in ipairs(NEW_KEYS) do redis.call('UNLINK', prefix .. ':' .. name .. ':' .. workspace) end
      redis.call('ZREM', prefix .. ':turns', workspace)
      redis.call('ZREM', states, element)
    end
  end
  if #elements == 200 then return elements[200] end
  redis.call('DEL', prefix .. ':statechecks')
  return ''
end, { 'allow-oom' })

-- Counts the events of a workspace that a migration to format 2 would find. ARGV: workspace. Returns the numbers of
-- events as add_counts describes them.
register('survey_2', function(keys, args)
  local prefix, workspace = keys[1], args[1]
  local converted, expired, unserved, cutoff = 0, 0, 0, clock() - HOLD_US
  local through = math.max(read_facts(prefix, workspace).expired_through, last_in_stream(held_key(prefix, workspace)))
  each_block(prefix, workspace, function(index)
    local bytes = redis.call('STRLEN', block_key(prefix, workspace, index))
    each_event(index, function(sequence, _, last)
      if sequence <= cutoff then expired = expired + 1
      elseif sequence > through and last <= bytes then converted = converted + 1
      else unserved = unserved + 1 end
    end)
  end)
  return { converted, expired, unserved }
end, { 'no-writes' })

-- Counts the data of a workspace that a migration to format 1 would find. ARGV: workspace. Returns the numbers of: held
-- events that have not expired; held events that have expired; log entries that a core of format 1 cannot read; failed
-- events; logged changes; entries for polls.
register('survey_1', function(keys, args)
  local prefix, workspace = keys[1], args[1]
  local key, results = held_key(prefix, workspace), 0
  local total = read_facts(prefix, workspace).held_total
  local _, converted = events_after(prefix, workspace, clock() - HOLD_US, 1, total)
  each_new_result(prefix, workspace, function() results = results + 1 end)
  local function size(command, name) return redis.call(command, prefix .. ':' .. name .. ':' .. workspace) end
  return { converted, redis.call('XLEN', key) - converted, results, size('ZCARD', 'failed'),
    size('LLEN', 'changes') + size('LLEN', 'sends'), size('LLEN', 'polls') }
end, { 'no-writes' })

-- Counts the data of a shard that a migration to format 1 would find. ARGV: none. Returns the number of operator
-- events, and the number of sessions and sign-in links of the dashboard.
register('survey_shard_1', function(keys, args)
  local sealed = 0
  for _, kind in ipairs({ 'session', 'link' }) do
    sealed = sealed + redis.call('ZCARD', keys[1] .. ':sealed:' .. kind)
  end
  return { redis.call('XLEN', keys[1] .. ':operator'), sealed }
end, { 'no-writes' })

-- Reads the counts of the shard's migration. ARGV: none. Returns the numbers of events as add_counts describes them.
register('read_counts', function(keys, args)
  local counts = redis.call('HMGET', migration_key(keys[1]), 'converted', 'expired', 'unserved')
  for i = 1, 3 do counts[i] = tonumber(counts[i] or 0) end
  return counts
end, { 'no-writes' })

-- Deletes the counts of the shard's migration. ARGV: none. Returns the number of deleted keys.
register('delete_counts', function(keys, args)
  return redis.call('DEL', migration_key(keys[1]))
end, { 'allow-oom' })
