-- Held events in format 1, of release 1.0.0-beta.1. Only the migration uses this file.
--
-- A block is a string: the JSON of consecutive events, joined by commas. Its key is
-- `:block:<workspace>:<sequence of its first event>`. The index of a block contains 12 bytes for each event: the
-- event's sequence (a double), and the position after the event's JSON (an integer). The indexes of full blocks are the
-- entries of a stream, `:full:<workspace>`; the id of an entry is the sequence of the block's last event. The index of
-- the newest block, which is not full, is the string `:index:<workspace>`.

-- Maximum bytes of a block. A larger event is stored in a separate block.
local BLOCK_BYTES = 16300
local INDEX_BYTES = 12
-- Seconds until a block expires after its last event. An index expires before its block.
local INDEX_SECONDS = @HELD_SECONDS@
local BLOCK_SECONDS = INDEX_SECONDS + 60

local function full_key(prefix, workspace)
  return prefix .. ':full:' .. workspace
end

local function index_key(prefix, workspace)
  return prefix .. ':index:' .. workspace
end

local function sequence_at(index, i)
  return (struct.unpack('<d', index, i * INDEX_BYTES - 11))
end

local function end_at(index, i)
  return (struct.unpack('<I4', index, i * INDEX_BYTES - 3))
end

local function block_key(prefix, workspace, index)
  return prefix .. ':block:' .. workspace .. ':' .. digits(sequence_at(index, 1))
end

-- Returns the index of the oldest block, and the block's id in the stream of full blocks (nil for the newest block);
-- nil when there is no block.
local function oldest_block(prefix, workspace)
  local entry = redis.call('XRANGE', full_key(prefix, workspace), '-', '+', 'COUNT', 1)[1]
  if entry then return entry[2][2], entry[1] end
  return redis.call('GET', index_key(prefix, workspace)) or nil
end

-- Removes a block and its index. `id` is the second result of oldest_block.
local function remove_block(prefix, workspace, index, id)
  redis.call('UNLINK', block_key(prefix, workspace, index))
  if not id then
    redis.call('DEL', index_key(prefix, workspace))
  elseif redis.call('XDEL', full_key(prefix, workspace), id) == 1 and redis.call('XLEN', full_key(prefix, workspace)) == 0 then
    redis.call('DEL', full_key(prefix, workspace))
  end
end

-- Calls `visit` with the index of each block, oldest first.
local BLOCKS_AT_ONCE = 100
local function each_block(prefix, workspace, visit)
  local from, entries = '-', nil
  repeat
    entries = redis.call('XRANGE', full_key(prefix, workspace), from, '+', 'COUNT', BLOCKS_AT_ONCE)
    for _, entry in ipairs(entries) do visit(entry[2][2]) end
    from = entries[1] and '(' .. entries[#entries][1]
  until #entries < BLOCKS_AT_ONCE
  local newest = redis.call('GET', index_key(prefix, workspace))
  if newest then visit(newest) end
end

-- Appends events, each {sequence, JSON}, to the blocks of a workspace, as release 1.0.0-beta.1 does.
local function append_to_blocks(prefix, workspace, fresh)
  local full, open = full_key(prefix, workspace), index_key(prefix, workspace)
  local index = redis.call('GET', open) or ''
  local bytes = index == '' and 0 or end_at(index, #index / INDEX_BYTES)
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
      if index ~= '' then redis.call('DEL', open) end
      index = index .. more
      redis.call('XADD', full, digits(sequence_at(index, #index / INDEX_BYTES)) .. '-0', 'x', index)
      outlive(full, INDEX_SECONDS)
    elseif index == '' then
      redis.call('SET', open, more, 'EX', INDEX_SECONDS + 3600)
    else
      redis.call('APPEND', open, more)
      outlive(open, INDEX_SECONDS)
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
