-- The state of a workspace: a hash with the key `:st:<workspace>`. STATE maps the name of each field in the library to
-- the name under which Redis stores the field. A stored name never changes, because cores of two releases use the same
-- hashes during an upgrade within a format (see docs/decisions/0030-stored-names.md). Sequences and
-- `polled_us` are in µs.
local STATE = {
  -- Version and mode of the record in `:ws:`. Written by put_workspace.
  version = 'version',
  mode = 'mode',

  -- The sequence that was assigned last. If an event with a higher sequence was held, that sequence counts instead.
  -- Written by publish.
  last_sequence = 'sequence',
  -- The facts about held events (see HELD_FACTS below), packed in one text. Written by publish, page and record_pushes.
  held_facts = 'facts',
  -- The sequence of the last event that was moved from `:push` to the held events, and the value that `last_held` had
  -- before the latest series of moves. Written by record_pushes.
  last_moved = 'lifted',
  held_before_moves = 'published',

  -- The time of the last poll, and the run of polls without events: its id and the number of its polls. Written by page.
  polled_us = 'polled',
  poll_run = 'run',
  -- Time at which polling began to fail (written by find_failing), and time of the poll that ended the last outage
  -- (written by page).
  polls_failing_ms = 'failing',
  polls_recovered_ms = 'recovered',
  -- Time of the last event that was refused because the held events were at their bound, accurate to 10 s. Written by
  -- publish.
  refused_ms = 'refused',
  -- Time of the first signed POST. Written by append.
  first_post_ms = 'posted',

  -- Failures of pushes: see operator.lua. Written by record_pushes, log_delivery, find_failing and put_workspace.
  -- Time of the first failed attempt after the last accepted attempt.
  pushes_failing_ms = 'faulty',
  -- The value that `pushes_failing_ms` had when the operator event `workspace.failing` was queued. Deleted together with
  -- `pushes_failing_ms`.
  push_outage_ms = 'alerted',
  -- Times at which the last operator events `workspace.failing` and `event.retries_exhausted` were queued.
  outage_reported_ms = 'warned',
  exhausted_reported_ms = 'exhausted',
  -- Number of events whose last attempt has failed since `exhausted_reported_ms`.
  exhausted_unreported = 'lost',
  -- Time at which the last operator event `event.dead_lettered` was queued. Written by dead_letter.
  dead_lettered_ms = 'deadlettered',

  -- The facts that determine the state of pushes: see states.lua. Written by record_pushes, log_delivery and publish.
  -- Each time is the time of an entry in `:log:`. Time of an attempt that is not always the last one: the log can
  -- contain later attempts.
  attempted_ms = 'attempted',
  -- Times of the last failed attempt, of the first accepted attempt after it, and of the last failed attempt of the
  -- previous series of failures. `accepted_ms` is deleted when an attempt fails.
  failed_ms = 'failed',
  accepted_ms = 'accepted',
  failed_before_ms = 'failedbefore',
  -- Time of the last event that was dropped as overloaded.
  overloaded_ms = 'overloaded',

  -- The start of the workspace's element in `:states` (see states.lua), and the time at which the workspace was
  -- created. Written by settle in states.lua.
  listed = 'listed',
  created_ms = 'created',
}

-- The facts about held events, in the order in which they are packed. Each fact is a number of eight bytes; 0 means
-- that there is no value. Each call that publishes or polls needs most of the facts, and Redis finds, converts and logs
-- one field in much less time than seven. The text has at most 64 bytes, because Redis stores a hash with a longer
-- value less compactly.
local HELD_FACTS = {
  -- The highest sequence that expired, and the lowest that is still held.
  'expired_through',
  'oldest_held',
  -- The sequence of the event that was held last.
  'last_held',
  -- Number of events ever held, and size in bytes of the largest event held since the stream was last empty.
  'held_total',
  'largest_held',
  -- The last sequence that was served to a poll.
  'served_through',
  -- `held_total` when the stream was last empty.
  'total_before',
}
local FACTS_FORMAT = '<ddddddd'
local IS_HELD_FACT = {}
for i = 1, #HELD_FACTS do IS_HELD_FACT[HELD_FACTS[i]] = true end

-- The fields whose values are strings, not numbers. The library compares versions as strings.
local STATE_TEXTS = { version = true, mode = true, poll_run = true, listed = true }

local function state_key(prefix, workspace)
  return prefix .. ':st:' .. workspace
end

-- Returns the facts about held events as numbers, in the order of HELD_FACTS. `packed` is false for a workspace that
-- has never held an event.
local function unpack_facts(packed)
  if not packed then return 0, 0, 0, 0, 0, 0, 0 end
  return struct.unpack(FACTS_FORMAT, packed)
end

-- `state` contains all facts about held events.
local function pack_facts(state)
  return struct.pack(FACTS_FORMAT, state.expired_through, state.oldest_held, state.last_held, state.held_total,
    state.largest_held, state.served_through, state.total_before)
end

-- Returns a function that reads the given fields of a workspace's state. The function returns a table whose keys are
-- the field names; the value of a missing field is nil. If one of the fields is a fact about held events, the table
-- contains all of these facts.
local function state_reader(...)
  local given, names, stored, has_facts = { ... }, {}, {}, false
  -- While Redis loads a library, Lua's global functions, e.g. `error`, are not available. So the concatenation checks
  -- each name: it fails for an unknown name.
  for i = 1, #given do
    if IS_HELD_FACT[given[i]] then has_facts = true
    else names[#names + 1], stored[#stored + 1] = given[i], '' .. STATE[given[i]] end
  end
  if has_facts then stored[#stored + 1] = STATE.held_facts end
  return function(prefix, workspace)
    local values, state = redis.call('HMGET', state_key(prefix, workspace), unpack(stored)), {}
    for i, name in ipairs(names) do
      local value = values[i]
      if value then state[name] = STATE_TEXTS[name] and value or tonumber(value) end
    end
    if has_facts then
      local facts = { unpack_facts(values[#stored]) }
      for i, name in ipairs(HELD_FACTS) do state[name] = facts[i] ~= 0 and facts[i] or nil end
    end
    return state
  end
end
