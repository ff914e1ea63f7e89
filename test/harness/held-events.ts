import { evaluate, keyOf, texts, type TestStore } from "./store";

/** Each held event, as a sequence and its JSON. ARGV: what the name of a block begins with. */
const HELD_EVENTS = `
  local held = {}
  local function add(index)
    local text, from = nil, 1
    for at = 1, #index, 12 do
      local sequence, last = struct.unpack('<dI4', index, at)
      text = text or redis.call('GET', ARGV[1] .. string.format(':%.0f', sequence))
      held[#held + 1] = string.format('%.0f', sequence)
      held[#held + 1] = string.sub(text, from, last)
      from = last + 2
    end
  end
  for _, block in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do
    add(block[2][2])
    if held[#held - 1] .. '-0' ~= block[1] then error('a block has another last event') end
  end
  add(redis.call('GET', KEYS[2]) or '')
  return held`;

async function readHeld(store: TestStore, workspaceId: string): Promise<readonly string[]> {
  const [stream = "", open = "", block = ""] = ["full", "index", "block"].map((kind) =>
    keyOf(store, workspaceId, kind),
  );
  return texts(store, "EVAL", HELD_EVENTS, "2", stream, open, block);
}

/** The sequences under which the events of a workspace are held, in the order in which they are kept. */
export async function heldSequences(store: TestStore, workspaceId: string): Promise<readonly number[]> {
  return (await readHeld(store, workspaceId)).filter((_, i) => i % 2 === 0).map(Number);
}

/** The events that are held for a workspace, in the order in which they are kept. */
export async function heldEvents<Event>(store: TestStore, workspaceId: string): Promise<readonly Event[]> {
  const held = await readHeld(store, workspaceId);
  return held.filter((_, i) => i % 2 === 1).map((json) => JSON.parse(json) as Event);
}

/** Has a workspace hold just these events, as if they had been published at the times of their sequences. */
export async function holdSince(
  store: TestStore,
  workspaceId: string,
  events: readonly { readonly sequence: number }[],
): Promise<void> {
  const index = Buffer.alloc(events.length * 12);
  const json = events.map((event) => JSON.stringify(event));
  for (const [i, { sequence }] of events.entries()) {
    index.writeDoubleLE(sequence, i * 12);
    index.writeUInt32LE(Buffer.byteLength(json.slice(0, i + 1).join(",")), i * 12 + 8);
  }
  const [first, last] = [events[0], events.at(-1)].map((event) => String(event?.sequence));
  const [block, open, state] = ["block", "index", "st"].map((kind) => keyOf(store, workspaceId, kind));
  await store.redis.command("", ["SET", `${block}:${first}`, json.join(",")]);
  await store.redis.command("", ["SET", open ?? "", index]);
  const fields = ["sequence", last, "held", last, "oldest", first].map(String);
  await store.redis.command("", ["HSET", state ?? "", ...fields]);
}

/** What is kept of held events had `us` gone by: sequences that much older, their keys that much nearer to their end. */
export function timePasses(store: TestStore, workspaceId: string, us: number): Promise<void> {
  const script = `
    local stream, open, state, blocks, us = KEYS[1], KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[1])
    local left = {}
    for _, key in ipairs({ stream, open }) do left[key] = redis.call('PTTL', key) - us / 1000 end
    -- An index, and the block that it is of, that much earlier.
    local function earlier(index)
      local entries, from, to = {}, nil, nil
      for at = 1, #index, 12 do
        local sequence, last = struct.unpack('<dI4', index, at)
        from, to = from or string.format(':%.0f', sequence), to or string.format(':%.0f', sequence - us)
        entries[#entries + 1] = struct.pack('<dI4', sequence - us, last)
      end
      if redis.call('EXISTS', blocks .. from) == 1 then
        redis.call('RENAME', blocks .. from, blocks .. to)
        left[blocks .. to] = redis.call('PTTL', blocks .. to) - us / 1000
      end
      return table.concat(entries)
    end
    local indexes = redis.call('XRANGE', stream, '-', '+')
    if #indexes > 0 then redis.call('DEL', stream) end
    for _, entry in ipairs(indexes) do
      local last = tonumber(string.match(entry[1], '^%d+')) - us
      redis.call('XADD', stream, string.format('%.0f-0', last), 'x', earlier(entry[2][2]))
    end
    local index = redis.call('GET', open)
    if index then redis.call('SET', open, earlier(index)) end
    for key, ms in pairs(left) do
      if ms > 0 then redis.call('PEXPIRE', key, string.format('%.0f', ms)) else redis.call('DEL', key) end
    end
    for _, field in ipairs({ 'sequence', 'held', 'gone', 'oldest', 'served' }) do
      local at = redis.call('HGET', state, field)
      if at then redis.call('HSET', state, field, string.format('%.0f', tonumber(at) - us)) end
    end`;
  const keys = ["full", "index", "st", "block"].map((kind) => keyOf(store, workspaceId, kind));
  return evaluate(store, script, keys, us);
}
