-- The requests of a workspace in the last hour, which help people to find the cause of a problem.
--
-- The hash `:hour:<workspace>` has one field for each bucket of five minutes: the number of the bucket modulo BUCKETS.
-- The value is '<number of the bucket> <letter><count>…', with one letter per kind (see pending-counts.ts). A field
-- that belongs to an earlier hour is overwritten. The key expires when its newest bucket is older than an hour.
--
-- Most writes are not logged in the append-only file, so that a poll does not cause a disk write. The first write of
-- each bucket is logged, together with the final value of the previous bucket. Core logs the rest with `log_requests`:
-- a minute after the last write, and when core stops. So while a core runs, a crash or a failover of Redis loses at
-- most the counts of the last six minutes.
local BUCKETS = @REQUEST_BUCKETS@
local BUCKET_US = @REQUEST_BUCKET_MINUTES@ * 60 * MICROSECONDS
local HOUR_SECONDS = (BUCKETS + 1) * BUCKET_US / MICROSECONDS

local function hour_key(prefix, workspace)
  return prefix .. ':hour:' .. workspace
end

local function refused_key(prefix, workspace)
  return prefix .. ':refused:' .. workspace
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

-- Adds counts to the current bucket. Returns true if the write was not logged in the append-only file.
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
    return true
  end
  local last, _, stored = read_bucket(key, number - 1)
  if last == number - 1 then redis.call('HSET', key, digits(last % BUCKETS), stored) end
  write()
  return false
end

-- The hash `:refused:<workspace>` contains the last refused request of each class: '<number of
-- the bucket> <sample as JSON>'. The first sample of a class in each bucket is logged.
-- Core logs later samples within about a minute with `log_requests`.
local SAMPLE_SECONDS = 86400
local SAMPLE_BUCKETS = SAMPLE_SECONDS * MICROSECONDS / BUCKET_US

-- Returns whether a stored sample is too old. Redis can expire only the whole hash, not a single sample.
local function is_old_sample(stored, number)
  return tonumber(string.match(stored, '^%d+')) <= number - SAMPLE_BUCKETS
end

local function drop_old_samples(key, number)
  local samples = redis.call('HGETALL', key)
  for i = 1, #samples, 2 do
    if is_old_sample(samples[i + 1], number) then redis.call('HDEL', key, samples[i]) end
  end
end

-- Stores samples. Returns true if any write was not logged in the append-only file.
local function keep_samples(prefix, workspace, number, samples)
  local key, has_unlogged = refused_key(prefix, workspace), false
  for i = 1, #samples, 2 do
    local function write()
      redis.call('HSET', key, samples[i], digits(number) .. ' ' .. samples[i + 1])
      redis.call('EXPIRE', key, SAMPLE_SECONDS)
    end
    local stored = redis.call('HGET', key, samples[i])
    local is_new = not stored or string.match(stored, '^%d+') ~= digits(number)
    if is_new then
      write()
      drop_old_samples(key, number)
    else
      write_unlogged(write)
    end
    has_unlogged = has_unlogged or not is_new
  end
  return has_unlogged
end

-- Adds the counts and samples of workspaces. ARGV: for each workspace, its id, the counts ('' for
-- none), and the packed samples: for each sample, its class and the sample ('' for none). A
-- workspace that does not exist never gets a key. Returns for each workspace two values, each 1 or 0: {whether its
-- counts were written without logging, whether a sample was}.
register('add_requests', function(keys, args)
  local prefix, answers = keys[1], {}
  local number = math.floor(clock() / BUCKET_US)
  for i = 1, #args, 3 do
    local workspace, counts, samples = args[i], args[i + 1], args[i + 2]
    local exists = redis.call('EXISTS', state_key(prefix, workspace)) == 1
    local some_counts = exists and counts ~= '' and add_counts(prefix, workspace, number, counts)
    local some_samples = exists and samples ~= '' and keep_samples(prefix, workspace, number, unpack_fields(samples))
    answers[#answers + 1] = { some_counts and 1 or 0, some_samples and 1 or 0 }
  end
  return answers
end)

-- Writes all fields of a hash again, so that they are logged.
local function log_hash(key)
  local fields = redis.call('HGETALL', key)
  if #fields == 0 then return end
  redis.call('HSET', key, unpack(fields))
  local seconds = redis.call('TTL', key)
  if seconds > 0 then redis.call('EXPIRE', key, seconds) end
end

-- Logs the counts and samples of workspaces. ARGV: ids.
register('log_requests', function(keys, args)
  for _, workspace in ipairs(args) do
    log_hash(hour_key(keys[1], workspace))
    log_hash(refused_key(keys[1], workspace))
  end
  return {}
end)

-- Returns the buckets of the last hour of a workspace, in no particular order.
local function hour_of(prefix, workspace)
  local oldest, buckets = math.floor(clock() / BUCKET_US) - BUCKETS + 1, {}
  for _, stored in ipairs(redis.call('HVALS', hour_key(prefix, workspace))) do
    if tonumber(string.match(stored, '^%d+')) >= oldest then buckets[#buckets + 1] = stored end
  end
  return buckets
end

-- Reads the counts of workspaces. ARGV: ids. Returns for each workspace the list of its buckets of the last hour, in no
-- particular order.
register('read_hours', function(keys, args)
  local answers = {}
  for i, workspace in ipairs(args) do answers[i] = hour_of(keys[1], workspace) end
  return answers
end, { 'no-writes' })

-- Reads the requests of one workspace. ARGV: workspace. Returns {buckets as in read_hours, samples}.
register('read_requests', function(keys, args)
  local number, samples = math.floor(clock() / BUCKET_US), {}
  for _, stored in ipairs(redis.call('HVALS', refused_key(keys[1], args[1]))) do
    if not is_old_sample(stored, number) then samples[#samples + 1] = stored end
  end
  return { hour_of(keys[1], args[1]), samples }
end, { 'no-writes' })
