import { asList, asText } from "../../core/store/redis/reply";
import { storeFacts } from "./held-facts";
import { evaluate, keyOf, type TestStore } from "./store";

/** Returns the sequence and the JSON of each held event. */
async function readHeld(store: TestStore, workspaceId: string) {
  const key = keyOf(store, workspaceId, "held");
  const entries = asList(await store.redis.command(key, ["XRANGE", key, "-", "+"])).map(asList);
  return entries.map(([id = null, fields = null]) => ({
    sequence: Number(asText(id).replace(/-0$/, "")),
    json: asText(asList(fields)[1] ?? null),
  }));
}

/** Returns the sequences of a workspace's held events, in stored order. */
export async function heldSequences(store: TestStore, workspaceId: string): Promise<readonly number[]> {
  return (await readHeld(store, workspaceId)).map(({ sequence }) => sequence);
}

/** Returns the held events of a workspace, in stored order. */
export async function heldEvents<Event>(store: TestStore, workspaceId: string): Promise<readonly Event[]> {
  return (await readHeld(store, workspaceId)).map(({ json }) => JSON.parse(json) as Event);
}

/**
 * Stores `events` as the held events of a workspace that has none. An event's sequence is its time of publication, in
 * µs since the epoch.
 */
export async function holdSince(
  store: TestStore,
  workspaceId: string,
  events: readonly { readonly sequence: number }[],
): Promise<void> {
  const held = keyOf(store, workspaceId, "held");
  const texts = events.map((event) => JSON.stringify(event));
  for (const [i, event] of events.entries()) {
    await store.redis.command("", ["XADD", held, `${event.sequence}-0`, String(i + 1), texts[i] ?? ""]);
  }
  const [first = 0, last = 0] = [events[0], events.at(-1)].map((event) => event?.sequence);
  const largest = Math.max(...texts.map((text) => Buffer.byteLength(text)));
  await storeFacts(store, workspaceId, { held: last, oldest: first, total: events.length, largest });
}

/**
 * Changes the held events as if `us` microseconds had passed: lowers their sequences, and the time to live of their
 * key.
 */
export function timePasses(store: TestStore, workspaceId: string, us: number): Promise<void> {
  const script = `
    local held, state, us = KEYS[1], KEYS[2], tonumber(ARGV[1])
    local left = redis.call('PTTL', held) - us / 1000
    local entries = redis.call('XRANGE', held, '-', '+')
    redis.call('DEL', held)
    if left > 0 then
      for _, entry in ipairs(entries) do
        local sequence = tonumber(string.match(entry[1], '^%d+')) - us
        redis.call('XADD', held, string.format('%.0f-0', sequence), unpack(entry[2]))
      end
      if #entries > 0 then redis.call('PEXPIRE', held, string.format('%.0f', left)) end
    end
    local assigned = redis.call('HGET', state, 'sequence')
    if assigned then redis.call('HSET', state, 'sequence', string.format('%.0f', tonumber(assigned) - us)) end
    local packed = redis.call('HGET', state, 'facts')
    if packed then
      local function earlier(sequence) return sequence > 0 and sequence - us or 0 end
      local gone, oldest, last, total, largest, served, before = struct.unpack('<ddddddd', packed)
      redis.call('HSET', state, 'facts', struct.pack('<ddddddd', earlier(gone), earlier(oldest), earlier(last), total,
        largest, earlier(served), before))
    end`;
  const keys = ["held", "st"].map((kind) => keyOf(store, workspaceId, kind));
  return evaluate(store, script, keys, us);
}
