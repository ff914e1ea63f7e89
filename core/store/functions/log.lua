-- The log of a workspace's deliveries. Attempts and drops are in a stream (`:log:`), polls in a
-- list (`:polls:`), so that polls never displace attempts. Consecutive polls that return no events form a run, and the
-- log contains one entry per run. A run in progress is stored in the workspace's state (`poll_run`), so a workspace
-- without events does not need a log while its bridge polls.
--
-- An entry of `:polls:` is a line: '<entry id> <number of polls> <time of the last poll, ms>
-- <number of events returned>'. If the poll returned events, ' <sequence> <number>' of the first
-- event follows (see held.lua); lines of older releases lack these two fields. In the state,
-- `poll_run` contains the first two fields, and `polled_us` the time of the last poll.

local DELIVERIES_MAX = @PUSHES_LOGGED_MAX@
local TESTS_MAX = @TESTS_LOGGED_MAX@
local POLLS_MAX = @POLLS_LOGGED_MAX@
local LOGGED_SECONDS = @LOGGED_SECONDS@

-- A run ends after this many microseconds without a poll. The polling of a workspace begins to
-- fail only after such a pause, so the log shows the pause.
local RUN_PAUSE_US = FAILING_AFTER_MS * 1000

-- An id is '<ms>-<number>'. In the id of a poll, `<number>` is at least `POLL_NUMBER_MIN`.
-- Redis never adds that many entries to a stream in one millisecond, so no delivery has the id
-- of a poll.
local POLL_NUMBER_MIN = 1000000

-- If two times in ms (13 digits) begin with the same seven digits, they are less than 1,000 seconds apart.
local RENEWED_DIGITS = 7

local function id_of(line)
  return string.match(line, '^%S+')
end

-- Returns the id of a new entry for polls. `last` is the previous entry for polls ('' for none).
-- Ids increase even when the clock steps back.
local function next_poll_id(now, last)
  local ms, number = string.match(last, '^(%d+)-(%d+)')
  if ms and tonumber(ms) >= math.floor(now / 1000) then return ms .. '-' .. digits(number + 1) end
  return digits(now / 1000) .. '-' .. POLL_NUMBER_MIN
end

-- Removes the lines that are too old from the start of a list. This is necessary when the expiry of the list has been
-- renewed, because Redis can expire only the whole list. `pattern` captures the time of a line in ms.
local function drop_old_lines(key, pattern)
  local cutoff = clock() / 1000 - LOGGED_SECONDS * 1000
  local line = redis.call('LINDEX', key, 0)
  while line and tonumber(string.match(line, pattern)) < cutoff do
    redis.call('LPOP', key)
    line = redis.call('LINDEX', key, 0)
  end
end

-- Adds a line. `last` is the previous line, if the caller has read it ('' if there is none).
local function add_polls(prefix, workspace, line, last)
  local key = prefix .. ':polls:' .. workspace
  local more = redis.call('RPUSH', key, line) - POLLS_MAX
  if more > 0 then redis.call('LPOP', key, digits(more)) end
  -- `outlive` keeps the list for an hour longer than required, so it is not called for each line.
  if not last or string.sub(last, 1, RENEWED_DIGITS) ~= string.sub(line, 1, RENEWED_DIGITS) then
    if outlive(key, LOGGED_SECONDS) then drop_old_lines(key, '^%S+ %d+ (%d+)') end
  end
end

local read_run_state = state_reader('poll_run', 'polled_us', 'pushes_failing_ms', 'listed')

-- Returns the run in progress as a line (nil when there is none), and fields of the workspace's state.
local function run_line(prefix, workspace)
  local state = read_run_state(prefix, workspace)
  return state.poll_run and state.poll_run .. ' ' .. digits(state.polled_us / 1000) .. ' 0', state
end

-- Ends the run in progress, if there is one. Returns fields of the workspace's state, because log_delivery
-- needs them too, and one read is cheaper than two.
local function end_run(prefix, workspace)
  local line, state = run_line(prefix, workspace)
  if line then
    add_polls(prefix, workspace, line)
    redis.call('HDEL', state_key(prefix, workspace), STATE.poll_run)
  end
  return state
end

-- Logs a poll that returned `events` events. `first` is the entry of the first event. `state` is
-- the state of the workspace before the poll. Returns the new value of `poll_run`; nil when the
-- poll returned events, because no run is in progress then.
local function log_poll(prefix, workspace, now, state, events, first)
  local run = state.poll_run
  if run and events == 0 and now - state.polled_us < RUN_PAUSE_US then
    local id, polls = string.match(run, '^(%S+) (%d+)$')
    return id .. ' ' .. digits(polls + 1)
  end
  if run then end_run(prefix, workspace) end
  local last = redis.call('LINDEX', prefix .. ':polls:' .. workspace, '-1') or ''
  local id = next_poll_id(now, last)
  if events == 0 then return id .. ' 1' end
  add_polls(prefix, workspace, id .. ' 1 ' .. digits(now / 1000) .. ' ' .. events
    .. ' ' .. sequence_digits(first) .. ' ' .. number_of(first), last)
end

-- Logs an attempt or a drop, and ends the run in progress. `response` contains one character (w if the whole body
-- follows, t if it is truncated), and then the start of the bridge's response body; '' for none. `accepted` contains
-- the workspaces whose last attempt was accepted in the same call: for these workspaces, another accepted attempt
-- changes only the log. Returns the id of the entry.
local function log_delivery(prefix, workspace, delivery, response, accepted)
  local is_success = is_logged_success(delivery)
  local is_known = is_success and accepted and accepted[workspace]
  local state = not is_known and end_run(prefix, workspace)
  local log = prefix .. ':log:' .. workspace
  local entry = redis.call('XADD', log, 'MAXLEN', '~', DELIVERIES_MAX, '*', 'd', delivery)
  -- Redis can expire only the whole log. Entries contain texts of messages, so entries that are too old are removed
  -- even while new entries arrive.
  if outlive(log, LOGGED_SECONDS) then
    redis.call('XTRIM', log, 'MINID', digits(clock() / 1000 - LOGGED_SECONDS * 1000))
  end
  if response ~= '' then keep_response(prefix, workspace, clock(), entry, response) end
  if is_known then return entry end
  if accepted then accepted[workspace] = is_success end
  note_attempt(prefix, workspace, delivery, state.pushes_failing_ms, is_success)
  note_push_fact(prefix, workspace, entry, delivery, state.listed, is_success)
  return entry
end

-- Number of bytes of an event that are stored in the log when the library itself logs a drop. Core makes the summary
-- from these bytes when it reads the log.
local EVENT_START_BYTES = 1024

-- Logs a packed event that was dropped before its first attempt.
local function log_drop(prefix, workspace, packed, publisher, reason)
  local _, event, _, _, expires, type, at = unpack_head(packed)
  local _, length, from = struct.unpack('<I4c0I4', packed, at)
  local start = string.sub(packed, from, from + math.min(length, EVENT_START_BYTES) - 1)
  log_delivery(prefix, workspace,
    cjson.encode({ event, type, 0, reason, 0, 0, '', start, publisher, tonumber(expires) or 0 }), '')
end

-- Records the log entry of a test event. Then, if there are too many test events, removes the entry and the response of
-- the oldest one. So test events displace only a few other entries. `:tests:<workspace>` contains the lines '<entry id>
-- <event id>', oldest first.
local function note_test(prefix, workspace, entry, event)
  local key = prefix .. ':tests:' .. workspace
  if redis.call('RPUSH', key, entry .. ' ' .. event) > TESTS_MAX then
    local oldest = id_of(redis.call('LPOP', key))
    redis.call('XDEL', prefix .. ':log:' .. workspace, oldest)
    redis.call('XDEL', responses_key(prefix, workspace), oldest)
  end
  outlive(key, LOGGED_SECONDS)
end

-- Logs a delivery of an event that is not in the push queue. ARGV: workspace; delivery; response
-- (see log_delivery above); event id and packed event to keep, or '' and '' if no event is to
-- be kept; maximum bytes of the failed events of the shard.
-- Returns the id of the entry, or '' when the workspace no longer exists.
-- A ping is a test event: only the last failed test event is kept, and only if there is room. So
-- a ping does not displace other failed events, which an operator may want to send again.
register('log_delivery', function(keys, args)
  local prefix, workspace, delivery, response, event, packed, most = keys[1], unpack(args)
  local failed_most = tonumber(most)
  if redis.call('EXISTS', state_key(prefix, workspace)) == 0 then return '' end
  local delivered, type = unpack(attempt_of(delivery))
  local is_test = type == 'ping'
  if is_test then forget_test(prefix, workspace) end
  if packed ~= '' and (not is_test or has_room(prefix, workspace, #packed, failed_most)) then
    keep_failed(prefix, workspace, clock(), event, packed, failed_most)
  end
  local entry = log_delivery(prefix, workspace, delivery, response)
  if is_test then note_test(prefix, workspace, entry, delivered) end
  return entry
end, { 'allow-oom' })

local function to_deliveries(entries)
  for i, entry in ipairs(entries) do entries[i] = { entry[1], entry[2][2] } end
  return entries
end

-- Reads entries of the log. ARGV: workspace, the entry id to start before ('+' to start at the
-- newest entry), count. Returns {deliveries, each as {entry id, delivery}; lines of polls}.
-- Both lists are newest first and have at most `count` entries.
register('read_deliveries', function(keys, args)
  local prefix, workspace, before, count = keys[1], args[1], args[2], tonumber(args[3])
  local from = before == '+' and '+' or '(' .. before
  local entries = redis.call('XREVRANGE', prefix .. ':log:' .. workspace, from, '-', 'COUNT', count)
  local lines = redis.call('LRANGE', prefix .. ':polls:' .. workspace, 0, -1)
  lines[#lines + 1] = run_line(prefix, workspace)
  local polls = {}
  for i = #lines, 1, -1 do
    if #polls == count then break end
    if before == '+' or is_before(id_of(lines[i]), before) then polls[#polls + 1] = lines[i] end
  end
  return { to_deliveries(entries), polls }
end, { 'no-writes' })

-- Reads the entries that were added since the caller's last read, and the run in progress if
-- it has changed since.
-- ARGV: workspace, the id of the last delivery seen, the last line of polls seen, count.
-- Returns the same as read_deliveries, except that the deliveries are oldest first.
register('read_newer', function(keys, args)
  local prefix, workspace, seen, count = keys[1], args[1], args[3], tonumber(args[4])
  local entries = redis.call('XRANGE', prefix .. ':log:' .. workspace, '(' .. args[2], '+', 'COUNT', count)
  local key, at, polls = prefix .. ':polls:' .. workspace, 0, {}
  local function next_older()
    at = at - 1
    return redis.call('LINDEX', key, at)
  end
  local line = run_line(prefix, workspace) or next_older()
  while line and line ~= seen and #polls < count and not is_before(id_of(line), id_of(seen)) do
    polls[#polls + 1] = line
    line = next_older()
  end
  return { to_deliveries(entries), polls }
end, { 'no-writes' })
