-- The requests of a workspace in the last hour, for people who look for a fault.
--
-- The hash `:hour:<workspace>` has one field for each five minutes: the number of the bucket
-- modulo BUCKETS. The value is '<number of the bucket> <letter><count>…', with one letter per
-- kind (see hour-counts.ts). A field that belongs to an earlier hour is overwritten. The key
-- expires when its newest bucket is older than an hour.
--
-- Most writes are not logged, so that a poll does not cause a disk write. The first write of
-- each bucket is logged, together with the final value of the previous bucket. So a restart or
-- a failover loses the counts of the current bucket only.
local BUCKETS = @REQUEST_BUCKETS@
local BUCKET_US = @REQUEST_BUCKET_MINUTES@ * 60 * MICROSECONDS
local HOUR_SECONDS = (BUCKETS + 1) * BUCKET_US / MICROSECONDS

local function hour_key(prefix, workspace)
  return prefix .. ':hour:' .. workspace
end

-- Returns the number of a stored bucket, and its counts as text.
local function read_bucket(key, number)
  local stored = redis.call('HGET', key, digits(number % BUCKETS))
  local found, counts = string.match(stored or '', '^(%d+) (.*)$')
  return tonumber(found), counts, stored
end

local function add_text(counts, more)
  if counts == '' then return more end
  local sums, order = {}, {}
  for letter, count in string.gmatch(counts .. more, '(%a)(%d+)') do
    if not sums[letter] then order[#order + 1] = letter end
    sums[letter] = (sums[letter] or 0) + tonumber(count)
  end
  for i, letter in ipairs(order) do order[i] = letter .. digits(sums[letter]) end
  return table.concat(order)
end

-- Adds counts to the current bucket. Returns true when the write began a bucket.
local function add_counts(prefix, workspace, number, more)
  local key = hour_key(prefix, workspace)
  local found, counts = read_bucket(key, number)
  local is_new = found ~= number
  local function write()
    redis.call('HSET', key, digits(number % BUCKETS), digits(number) .. ' ' .. add_text(is_new and '' or counts, more))
    redis.call('EXPIRE', key, HOUR_SECONDS)
  end
  if not is_new then
    write_unlogged(write)
    return
  end
  local last, _, stored = read_bucket(key, number - 1)
  if last == number - 1 then redis.call('HSET', key, digits(last % BUCKETS), stored) end
  write()
end

-- Adds the counts of workspaces. ARGV: for each workspace, its id and the counts. A workspace
-- that does not exist never gets a key. Returns for each workspace 1, or 0 if it does not exist.
register('add_requests', function(keys, args)
  local prefix, answers = keys[1], {}
  local number = math.floor(clock() / BUCKET_US)
  for i = 1, #args, 2 do
    local exists = redis.call('EXISTS', state_key(prefix, args[i]))
    if exists == 1 then add_counts(prefix, args[i], number, args[i + 1]) end
    answers[#answers + 1] = exists
  end
  return answers
end)

-- Reads the counts of workspaces. ARGV: ids. Returns for each workspace the list of its buckets of the last hour, in no
-- particular order.
register('read_hours', function(keys, args)
  local oldest, answers = math.floor(clock() / BUCKET_US) - BUCKETS + 1, {}
  for i, workspace in ipairs(args) do
    local buckets = {}
    for _, stored in ipairs(redis.call('HVALS', hour_key(keys[1], workspace))) do
      if tonumber(string.match(stored, '^%d+')) >= oldest then buckets[#buckets + 1] = stored end
    end
    answers[i] = buckets
  end
  return answers
end, { 'no-writes' })
