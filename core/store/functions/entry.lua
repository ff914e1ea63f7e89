-- Reads one entry of a workspace's log, and the data of the entry that is still stored.

local SHOWN_EVENTS_MAX = @SHOWN_EVENTS_MAX@
local SHOWN_EVENTS_MAX_BYTES = @SHOWN_EVENTS_MAX_BYTES@

-- Returns the line that has this id in the log of polls; nil when there is none.
local function line_of(prefix, workspace, id)
  local run = run_line(prefix, workspace)
  if run and id_of(run) == id then return run end
  for _, line in ipairs(redis.call('LRANGE', prefix .. ':polls:' .. workspace, 0, -1)) do
    if id_of(line) == id then return line end
  end
end

-- Appends to `answer` the events that a poll returned and that are still held, oldest first. The numbers of these
-- events are consecutive (see held.lua), so the function recognizes a later event even when some of these events have
-- expired.
local function add_polled(answer, prefix, workspace, line)
  local events, first, number = string.match(line, '^%S+ %S+ %S+ (%d+) (%d+) (%d+)$')
  if not first then return end
  local last, room = number + events - 1, SHOWN_EVENTS_MAX_BYTES
  local after, left = math.max(first - 1, clock() - HOLD_US), math.min(events, SHOWN_EVENTS_MAX)
  while left > 0 do
    local entries = redis.call('XRANGE', held_key(prefix, workspace), '(' .. digits(after), '+', 'COUNT', math.min(left, 8))
    for _, entry in ipairs(entries) do
      room = room - #entry[2][2]
      if room < 0 or tonumber((number_of(entry))) > last then return end
      answer[#answer + 1] = entry[2][2]
    end
    if #entries == 0 then return end
    after, left = sequence_of(entries[#entries]), left - #entries
  end
end

-- ARGV: workspace, id of the entry. Returns one of:
-- - {'push', delivery, response ('' for none), time of the failure in ms, packed event}. The
--   last two are absent unless the event is kept as a failed event.
-- - {'polls', line, then the held events that the polls returned, oldest first}
-- - {}: the log does not contain the entry
register('read_entry', function(keys, args)
  local prefix, workspace, id = keys[1], args[1], args[2]
  local entry = redis.call('XRANGE', prefix .. ':log:' .. workspace, id, id)[1]
  if not entry then
    local line = line_of(prefix, workspace, id)
    if not line then return {} end
    local answer = { 'polls', line }
    add_polled(answer, prefix, workspace, line)
    return answer
  end
  local now = clock()
  local is_fresh = tonumber(string.match(id, '^%d+')) >= responses_cutoff(now)
  local response = is_fresh and redis.call('XRANGE', responses_key(prefix, workspace), id, id)[1]
  local answer = { 'push', entry[2][2], response and response[2][2] or '' }
  local event = attempt_of(entry[2][2])[1]
  local order, events = failed_keys(prefix, workspace)
  local failed = redis.call('ZSCORE', order, event)
  if failed and tonumber(failed) > failed_cutoff(now) then
    answer[4], answer[5] = failed, redis.call('HGET', events, event)
  end
  return answer
end, { 'no-writes' })
