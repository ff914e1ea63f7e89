import type { FollowLog, LogEntry } from "../../core/ports/follow-log";
import type { Member } from "../../core/ports/leases";
import { StoreUnavailable } from "../../core/ports/store-unavailable";
import { createLeaseBook } from "./memory-leases";

export type MemoryConnection = ReturnType<ReturnType<typeof createMemoryFollowLog>["connect"]>;

interface Shard {
  readonly entries: { readonly id: string; readonly workspaceId: string; readonly number: number }[];
  /** Entries read so far, and the attempts of those that are not acked. */
  read: number;
  readonly pending: Map<string, number>;
}

const LEASE_MS = 4_000;
const LATENCY_MS = 40;

/** The number that `append` answered. */
export function numberOf({ event }: LogEntry): number {
  return Number(event.toString());
}

function toEntry(entryId: string, attempt: number, workspaceId: string, number: number): LogEntry {
  return { entryId, attempt, workspaceId, receivedAtMs: 0, event: Buffer.from(String(number)) };
}

/** A FollowLog in memory, of one group, on the clock of fake timers; `shardOf` has the shard of each workspace. */
export function createMemoryFollowLog(shardOf: Readonly<Record<string, number>>) {
  const shards: Shard[] = Array.from({ length: Math.max(...Object.values(shardOf)) + 1 }, () => ({
    entries: [],
    read: 0,
    pending: new Map(),
  }));
  const appended = new Map<string, number>();
  const book = createLeaseBook(LEASE_MS);
  const wakes = new Set<(shard: number) => void>();
  let latency = 0;
  let away = false;

  function at(shard: number): Shard {
    const found = shards[shard];
    if (found === undefined) throw new RangeError(`no shard ${shard}`);
    return found;
  }
  /** A shard, if it is the member's now. */
  const heldBy = ({ token }: Member, shard: number) => (book.holder(shard) === token ? at(shard) : undefined);
  function claim(shard: Shard, ids: readonly string[]): LogEntry[] {
    return ids.flatMap((entryId) => {
      const attempt = (shard.pending.get(entryId) ?? 0) + 1;
      const entry = shard.entries.find(({ id }) => id === entryId);
      if (entry === undefined || attempt === 1) return [];
      shard.pending.set(entryId, attempt);
      const { workspaceId, number } = entry;
      return [toEntry(entryId, attempt, workspaceId, number)];
    });
  }

  const memory = {
    /** It was away at least once, for all or for one, so leases may have run out under their holders. */
    wasAway: false,
    /** While away, every call fails, and so does one that was made before and is not answered yet. */
    get away(): boolean {
      return away;
    },
    set away(is) {
      away = is;
      memory.wasAway ||= is;
    },
    get unacked(): number {
      return shards.reduce((sum, shard) => sum + shard.entries.length - shard.read + shard.pending.size, 0);
    },
    /** Appends an event; answers its number within the workspace, from 0. */
    append(workspaceId: string): number {
      const number = appended.get(workspaceId) ?? 0;
      appended.set(workspaceId, number + 1);
      const index = shardOf[workspaceId] ?? 0;
      const { entries } = at(index);
      entries.push({ id: `${entries.length + 1}-0`, workspaceId, number });
      for (const wake of wakes) wake(index);
      return number;
    },
    /** The log as one core sees it, which can be cut off, or crash: no call is ever answered again. */
    connect() {
      let crashed = false;
      /** Takes a while before and after, as a network does; the lengths go round so that runs can be repeated. */
      async function call<T>(effect: () => T): Promise<T> {
        const pause = (): Promise<void> =>
          new Promise((resolve) => {
            latency = (latency + 7) % LATENCY_MS;
            setTimeout(() => !crashed && resolve(), latency);
          });
        const isAway = (): boolean => away || connection.cutOff;
        await pause();
        if (isAway()) throw new StoreUnavailable("away");
        const result = effect();
        await pause();
        // It was done, and nobody hears of it.
        if (isAway()) throw new StoreUnavailable("away");
        return result;
      }
      const log: FollowLog = {
        shards: shards.length,
        streamsMax: Infinity,
        open: () => call(() => undefined),
        join: (...who) => call(() => book.join(...who)),
        leave: (member) => call(() => book.leave(member)),
        take: (...what) => call(() => book.take(...what)),
        drop: (...what) => call(() => book.drop(...what)),
        readNew: (member, shard, count) =>
          call(() => {
            const state = heldBy(member, shard);
            if (state === undefined) return undefined;
            const fresh = state.entries.slice(state.read, state.read + count);
            state.read += fresh.length;
            return fresh.map(({ id, workspaceId, number }) => {
              state.pending.set(id, 1);
              return toEntry(id, 1, workspaceId, number);
            });
          }),
        readAgain: (member, shard, count, after) =>
          call(() => {
            const state = heldBy(member, shard);
            if (state === undefined) return undefined;
            const ids = state.entries.map(({ id }) => id).filter((id) => state.pending.has(id));
            const from =
              after === undefined ? ids : ids.filter((id) => parseInt(id, 10) > parseInt(after, 10));
            const page = from.slice(0, count);
            return { entries: claim(state, page), last: page.at(-1) };
          }),
        readEntries: (member, shard, entryIds) =>
          call(() => {
            const state = heldBy(member, shard);
            return state && claim(state, entryIds);
          }),
        ack: (_group, shard, entryIds) =>
          call(() => {
            for (const id of entryIds) at(shard).pending.delete(id);
          }),
        onWake(wake) {
          wakes.add(wake);
          return () => wakes.delete(wake);
        },
      };
      const connection = { log, cutOff: false, crash: () => void (crashed = true) };
      return connection;
    },
  };
  return memory;
}
