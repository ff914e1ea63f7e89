-- The log of deliveries of a workspace. Attempts and drops are in a stream (`:log:`),
-- polls in a list (`:polls:`), so polls never push deliveries out. Polls in a row that
-- brought no events are a run, and a run is one entry. While a run lasts, it is in the
-- state of the workspace (`run`), so an idle workspace that polls has no log at all.
--
-- An entry of polls is a line: '<entry id> <how many polls> <time of the last, ms>
-- <events that it brought>'. `run` has the first two; the time of its last poll is `polled`.

local DELIVERIES_MAX = 1000
local POLLS_MAX = 500
local LOGGED_SECONDS = 7 * 86400

-- Silence that lets a workspace fail ends a run too, so the log shows the silence.
local RUN_PAUSE_US = FAILING_AFTER_MS * 1000

-- The second part of a poll's id begins here. A stream never gets so far within a
-- millisecond, so no delivery has the id of a poll.
local POLL_NUMBER_MIN = 1000000

local function id_of(line)
  return string.match(line, '^%S+')
end

-- The id of polls that begin now, after an entry ('' for none). Ids rise even when the clock steps back.
local function next_poll_id(now, last)
  local ms, number = string.match(last, '^(%d+)-(%d+)')
  if ms and tonumber(ms) >= math.floor(now / 1000) then return ms .. '-' .. digits(number + 1) end
  return digits(now / 1000) .. '-' .. POLL_NUMBER_MIN
end

local function add_polls(prefix, workspace, line)
  local key = prefix .. ':polls:' .. workspace
  if redis.call('RPUSH', key, line) > POLLS_MAX then redis.call('LTRIM', key, -POLLS_MAX, -1) end
  outlive(key, LOGGED_SECONDS)
end

-- The run that still lasts, as a line; nil when there is none.
local function run_line(prefix, workspace)
  local fields = redis.call('HMGET', prefix .. ':st:' .. workspace, 'run', 'polled')
  if fields[1] then return fields[1] .. ' ' .. digits(tonumber(fields[2]) / 1000) .. ' 0' end
end

local function end_run(prefix, workspace)
  local line = run_line(prefix, workspace)
  if not line then return end
  add_polls(prefix, workspace, line)
  redis.call('HDEL', prefix .. ':st:' .. workspace, 'run')
end

-- Logs a poll that brought so many events. `run` and `polled` are what the state of the
-- workspace has. Returns what `run` is to be now; nil when it is to be none.
local function log_poll(prefix, workspace, now, run, polled, events)
  if run and events == 0 and now - tonumber(polled) < RUN_PAUSE_US then
    local id, polls = string.match(run, '^(%S+) (%d+)$')
    return id .. ' ' .. digits(polls + 1)
  end
  if run then end_run(prefix, workspace) end
  local id = next_poll_id(now, redis.call('LINDEX', prefix .. ':polls:' .. workspace, -1) or '')
  if events == 0 then return id .. ' 1' end
  add_polls(prefix, workspace, id .. ' 1 ' .. digits(now / 1000) .. ' ' .. events)
end

-- Logs an attempt or a drop. Returns the id of the entry.
local function log_delivery(prefix, workspace, delivery)
  end_run(prefix, workspace)
  local log = prefix .. ':log:' .. workspace
  local entry = redis.call('XADD', log, 'MAXLEN', '~', DELIVERIES_MAX, '*', 'd', delivery)
  outlive(log, LOGGED_SECONDS)
  return entry
end

-- Logs an event that was given up before any attempt.
local function log_drop(prefix, workspace, event, type, reason)
  log_delivery(prefix, workspace, cjson.encode({ event, type, 0, reason, 0, 0, '' }))
end

-- Logs a delivery that is of no queue. ARGV: workspace, delivery. Returns the id of
-- the entry, or '' when there is no such workspace any more.
register('log_delivery', function(keys, args)
  if redis.call('EXISTS', keys[1] .. ':st:' .. args[1]) == 0 then return '' end
  return log_delivery(keys[1], args[1], args[2])
end)

local function to_deliveries(entries)
  for i, entry in ipairs(entries) do entries[i] = { entry[1], entry[2][2] } end
  return entries
end

-- Reads the newest entries of the log. ARGV: workspace, the entry id to begin before
-- ('+' for the newest), count. Returns {deliveries: {entry id, delivery} each, lines of
-- polls}, each newest first and at most `count`.
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

-- Reads what the log has since it was last looked at, a run that goes on included.
-- ARGV: workspace, the id of the last delivery seen, the last line of polls seen, count.
-- Returns the same as read_deliveries, but deliveries oldest first.
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
