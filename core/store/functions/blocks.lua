-- Held events, in blocks. A block is the JSON of events that follow one another,
-- joined by commas as a page sends it: a string, `:block:<workspace>:<sequence of its
-- first event>`, that is appended to until it is full. Its index has twelve bytes for
-- each event: the sequence (a double), and where the JSON ends. The indexes of full
-- blocks are the entries of a stream, each under the sequence of its last event
-- (`:full:<workspace>`); that of the newest block, which is being filled, is a string
-- (`:index:<workspace>`).
--
-- So what is large is read by its name and range, past the functions: 64 KB that pass
-- through Lua cost 100 µs, and 6 by themselves. Under its name a block says the same
-- from its first event to its end, 24 hours after its last.

-- What a block has at most: a little less than 16 KB, which is what Redis takes from the
-- system for it. One larger event is a block by itself.
local BLOCK_BYTES = 16300
local INDEX_BYTES = 12
local HELD_SECONDS = 86400
-- An index goes first, so that there is always what it says.
local BLOCK_SECONDS = HELD_SECONDS + 60

local function sequence_at(index, i)
  return (struct.unpack('<d', index, i * INDEX_BYTES - 11))
end

local function end_at(index, i)
  return (struct.unpack('<I4', index, i * INDEX_BYTES - 3))
end

local function block_key(prefix, workspace, index)
  return prefix .. ':block:' .. workspace .. ':' .. digits(sequence_at(index, 1))
end

-- The place in an index of the first event after a sequence; one past the last when there is none.
local function first_after(index, sequence)
  local low, high = 1, #index / INDEX_BYTES + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sequence_at(index, middle) > sequence then high = middle else low = middle + 1 end
  end
  return low
end

-- The blocks with events after a sequence, oldest first, until they hold more than
-- `enough` of them. Returns {index, place of the first such event} for each, and how
-- many such events they hold.
local BLOCKS_AT_ONCE = 4
local function blocks_after(prefix, workspace, after, enough)
  local found, count = {}, 0
  local function add(index)
    local first = first_after(index, after)
    local has = #index / INDEX_BYTES - first + 1
    if has > 0 then found[#found + 1] = { index, first } end
    count = count + has
  end
  local from = '(' .. digits(after)
  while count <= enough do
    local entries = redis.call('XRANGE', prefix .. ':full:' .. workspace, from, '+', 'COUNT', BLOCKS_AT_ONCE)
    for _, entry in ipairs(entries) do add(entry[2][2]) end
    if #entries < BLOCKS_AT_ONCE then break end
    from = '(' .. entries[#entries][1]
  end
  if count <= enough then add(redis.call('GET', prefix .. ':index:' .. workspace) or '') end
  return found, count
end

-- Where the JSON of the first `limit` events of blocks is: {key, first byte, last byte}
-- for each block; how many bytes that is; and the sequence of the last event.
local function ranges(prefix, workspace, blocks, limit)
  local found, bytes, last = {}, 0, nil
  for _, block in ipairs(blocks) do
    if limit == 0 then break end
    local index, first = block[1], block[2]
    local through = math.min(#index / INDEX_BYTES, first + limit - 1)
    local from = first == 1 and 0 or end_at(index, first - 1) + 1
    local to = end_at(index, through) - 1
    found[#found + 1] = { block_key(prefix, workspace, index), from, to }
    bytes = bytes + to - from + 1
    last = sequence_at(index, through)
    limit = limit - (through - first + 1)
  end
  return found, bytes, last
end

-- Frees the full blocks whose last event is at most a sequence ('+' for all).
local function free_blocks(prefix, workspace, through)
  local stream = prefix .. ':full:' .. workspace
  repeat
    local entries = redis.call('XRANGE', stream, '-', through, 'COUNT', 100)
    local ids, keys = {}, {}
    for i, entry in ipairs(entries) do
      ids[i], keys[i] = entry[1], block_key(prefix, workspace, entry[2][2])
    end
    if #ids > 0 then
      redis.call('UNLINK', unpack(keys))
      redis.call('XDEL', stream, unpack(ids))
    end
  until #entries < 100
end

-- Frees all that is held.
local function free_all(prefix, workspace)
  local open = prefix .. ':index:' .. workspace
  free_blocks(prefix, workspace, '+')
  local index = redis.call('GET', open)
  if index then redis.call('UNLINK', open, block_key(prefix, workspace, index)) end
  redis.call('UNLINK', prefix .. ':full:' .. workspace)
end

-- Drops what is older than a day, and remembers the highest sequence that went, in
-- the field `gone`, and the lowest that is left, in `oldest`, by which is seen at
-- once that there is nothing to drop. Returns `gone`.
local function drop_expired(prefix, workspace, now, held, gone, oldest)
  local cutoff = now - HOLD_US
  if held <= gone or oldest > cutoff then return gone end
  local left, through
  local block = held > cutoff and blocks_after(prefix, workspace, cutoff, 0)[1]
  if block then
    local index, first = block[1], block[2]
    left = sequence_at(index, first)
    if first > 1 then
      through = sequence_at(index, first - 1)
    else
      local stream = prefix .. ':full:' .. workspace
      local before = redis.call('XREVRANGE', stream, digits(cutoff), '-', 'COUNT', 1)[1]
      through = before and tonumber(string.match(before[1], '^%d+')) or gone
    end
    free_blocks(prefix, workspace, digits(cutoff))
  else
    -- All of it, which may have gone by itself already.
    free_all(prefix, workspace)
    left, through = held, held
  end
  redis.call('HSET', prefix .. ':st:' .. workspace, 'gone', digits(through), 'oldest', digits(left))
  return through
end

-- Appends events, {sequence, JSON} of each in their order, to what is held of a workspace.
local function append_to_blocks(prefix, workspace, fresh)
  local stream, open = prefix .. ':full:' .. workspace, prefix .. ':index:' .. workspace
  -- Of the block at hand: its index as it is stored ('' for a new one), and what is yet to be written.
  local index = redis.call('GET', open) or ''
  local bytes = index == '' and 0 or end_at(index, #index / INDEX_BYTES)
  -- One whose block is not there says nothing: a new one is begun.
  if index ~= '' and redis.call('STRLEN', block_key(prefix, workspace, index)) ~= bytes then index, bytes = '', 0 end
  local jsons, added = {}, {}

  local function write(is_full)
    local json, more = table.concat(jsons, ','), table.concat(added)
    local key = block_key(prefix, workspace, index .. more)
    if index == '' then
      redis.call('SET', key, json, 'EX', BLOCK_SECONDS + 3600)
    elseif json ~= '' then
      redis.call('APPEND', key, ',' .. json)
      outlive(key, BLOCK_SECONDS)
    end
    if is_full then
      if index ~= '' then
        -- A string that was appended to keeps room for more; a copy has none.
        redis.call('COPY', key, key .. ':copy')
        redis.call('RENAME', key .. ':copy', key)
        redis.call('DEL', open)
      end
      index = index .. more
      redis.call('XADD', stream, digits(sequence_at(index, #index / INDEX_BYTES)) .. '-0', 'x', index)
      outlive(stream, HELD_SECONDS)
    elseif index == '' then
      redis.call('SET', open, more, 'EX', HELD_SECONDS + 3600)
    else
      redis.call('APPEND', open, more)
      outlive(open, HELD_SECONDS)
    end
  end

  for _, event in ipairs(fresh) do
    local sequence, json = event[1], event[2]
    if bytes > 0 and bytes + 1 + #json > BLOCK_BYTES then
      write(true)
      index, bytes, jsons, added = '', 0, {}, {}
    end
    bytes = bytes + #json + (bytes > 0 and 1 or 0)
    jsons[#jsons + 1] = json
    added[#added + 1] = struct.pack('<dI4', sequence, bytes)
  end
  write(false)
end
