import { hasPlace } from "../../core/operations/window-share";
import type { FollowLog, LogEntry, ParkedEntry, WindowShare } from "../../core/ports/follow-log";
import type { Member } from "../../core/ports/leases";
import { StoreUnavailable } from "../../core/ports/store-faults";
import { createLeaseBook } from "./memory-leases";

export type MemoryConnection = ReturnType<ReturnType<typeof createMemoryFollowLog>["connect"]>;

interface Shard {
  readonly entries: { readonly id: string; readonly workspaceId: string; readonly number: number }[];
  /**
   * The number of entries that were read at least once. `pending` maps the id of each unacked entry to the number of
   * its attempts, which is 0 for a parked entry.
   */
  read: number;
  readonly pending: Map<string, number>;
}

const LEASE_MS = 4_000;
const LATENCY_MS = 40;

/** Returns the number that `append` gave an entry within its workspace. */
export function numberOf({ event }: LogEntry): number {
  return Number(event.toString());
}

function toEntry(entryId: string, attempt: number, workspaceId: string, number: number): LogEntry {
  return { entryId, attempt, workspaceId, receivedAtMs: 0, event: Buffer.from(String(number)) };
}

/** Divides entries into those that fit into the window, and those that are parked. */
export function divide<Entry extends ParkedEntry>(entries: readonly Entry[], share: WindowShare | undefined) {
  if (share === undefined) return { fitting: entries, parked: undefined };
  const counts = new Map(share.counts);
  const fitting: Entry[] = [];
  const parked: ParkedEntry[] = [];
  for (const entry of entries) {
    const { entryId, workspaceId } = entry;
    const inFlight = counts.get(workspaceId) ?? 0;
    const fits = hasPlace(inFlight, { room: share.room - fitting.length, least: share.least });
    if (fits) fitting.push(entry);
    else parked.push({ entryId, workspaceId });
    counts.set(workspaceId, fits ? inFlight + 1 : Infinity);
  }
  return { fitting, parked };
}

/** Creates a FollowLog in memory for one group, on jest's fake clock. `shardOf` maps a workspace to its shard. */
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
  /** Returns a shard if the member holds its lease; otherwise undefined. */
  const heldBy = ({ token }: Member, shard: number) => (book.holder(shard) === token ? at(shard) : undefined);
  function claim(shard: Shard, ids: readonly string[]): LogEntry[] {
    return ids.flatMap((entryId) => {
      const attempt = (shard.pending.get(entryId) ?? 0) + 1;
      const entry = shard.entries.find(({ id }) => id === entryId);
      if (entry === undefined || !shard.pending.has(entryId)) return [];
      shard.pending.set(entryId, attempt);
      const { workspaceId, number } = entry;
      return [toEntry(entryId, attempt, workspaceId, number)];
    });
  }

  const memory = {
    /** Whether the log has ever been unavailable, for one connection or for all. If so, leases may have expired. */
    wasAway: false,
    /** Whether the log is unavailable. If so, every call fails, including calls in progress. */
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
    /** Appends an event. Returns the number of the event within the workspace, from 0. */
    append(workspaceId: string): number {
      const number = appended.get(workspaceId) ?? 0;
      appended.set(workspaceId, number + 1);
      const index = shardOf[workspaceId] ?? 0;
      const { entries } = at(index);
      entries.push({ id: `${entries.length + 1}-0`, workspaceId, number });
      for (const wake of wakes) wake(index);
      return number;
    },
    /**
     * Returns the log as one core sees it. A test can cut off or crash this core. After a crash, the core's calls are
     * not answered.
     */
    connect() {
      let crashed = false;
      /**
       * Simulates a network: runs `effect` with a pause before and after. The latencies follow a fixed pattern, so that
       * test runs are reproducible.
       */
      async function call<T>(effect: () => T): Promise<T> {
        const pause = (): Promise<void> =>
          new Promise((resolve) => {
            latency = (latency + 7) % LATENCY_MS;
            setTimeout(() => !crashed && resolve(), latency);
          });
        const isAway = (): boolean => away || connection.cutOff;
        await pause();
        if (isAway()) throw new StoreUnavailable("unavailable");
        const result = effect();
        await pause();
        // If the log is unavailable now, the call has taken effect, but the caller gets no answer.
        if (isAway()) throw new StoreUnavailable("unavailable");
        return result;
      }
      const log: FollowLog = {
        shards: shards.length,
        streamsMax: Infinity,
        open: () => call(() => "opened" as const),
        join: (...who) => call(() => book.join(...who)),
        leave: (member) => call(() => book.leave(member)),
        take: (...what) => call(() => book.take(...what)),
        drop: (...what) => call(() => book.drop(...what)),
        readNew: (member, shard, count, share) =>
          call(() => {
            const state = heldBy(member, shard);
            if (state === undefined) return undefined;
            const fresh = state.entries.slice(state.read, state.read + count);
            state.read += fresh.length;
            const all = fresh.map(({ id, workspaceId, number }) => toEntry(id, 1, workspaceId, number));
            const { fitting, parked } = divide(all, share);
            for (const { entryId } of fitting) state.pending.set(entryId, 1);
            for (const { entryId } of parked ?? []) state.pending.set(entryId, 0);
            return { entries: fitting, parked, isEnd: fresh.length < count };
          }),
        readAgain: (member, shard, count, after, share) =>
          call(() => {
            const state = heldBy(member, shard);
            if (state === undefined) return undefined;
            const ids = state.entries.map(({ id }) => id).filter((id) => state.pending.has(id));
            const from =
              after === undefined ? ids : ids.filter((id) => parseInt(id, 10) > parseInt(after, 10));
            const page = from.slice(0, count);
            const found = state.entries.filter(({ id }) => page.includes(id));
            const { fitting, parked } = divide(
              found.map(({ id, workspaceId }) => ({ entryId: id, workspaceId })),
              share,
            );
            const entries = claim(
              state,
              fitting.map(({ entryId }) => entryId),
            );
            return { entries, parked, last: page.at(-1) };
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
        deadLetter: (_group, { shard, entryId }) => call(() => void at(shard).pending.delete(entryId)),
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
