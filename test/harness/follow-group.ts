import { follow, type Follower } from "../../core/operations/follow";
import type { Parking } from "../../core/operations/parked-events";
import { LEASE_MS, type NotJoined } from "../../core/ports/leases";
import { createMemoryFollowLog, numberOf, type MemoryConnection } from "./memory-follow-log";

export const DEADLINE_MS = 3_000;
const SHARD_OF = { a: 0, b: 0, c: 1, d: 2, e: 3 } as const;
export type WorkspaceId = keyof typeof SHARD_OF;
export const WORKSPACES = Object.keys(SHARD_OF) as WorkspaceId[];

export interface Delivered {
  readonly id: string;
  readonly workspaceId: string;
  readonly number: number;
  readonly attempt: number;
  readonly atMs: number;
}

/** A stream and its deliveries. The group checks each delivery on arrival. */
export interface Stream {
  readonly consumer: string;
  readonly delivered: Delivered[];
  readonly follower: Follower;
  /** Whether the stream has a backlog of unsent deliveries. */
  readonly unsent: { isBehind: boolean };
  ended: "stopped" | NotJoined | undefined;
  /** The stream's own connection to the store. A test can cut off this connection. */
  readonly connection: MemoryConnection;
  stop(): void;
  crash(): void;
}

/**
 * Creates a group of streams that follow one log. At each delivery, checks the order of the events and the size of the
 * window.
 */
export function createGroup(window: number, parking: Parking = { reserve: () => () => undefined }) {
  const memory = createMemoryFollowLog(SHARD_OF);
  const acked = new Set<string>();
  const latest = new Map<string, Delivered & { readonly stream: Stream }>();
  /** The events that wait for their redelivery after a nack, and all events that a stream has nacked. */
  const givenBack = new Set<string>();
  const nacked = new Set<string>();
  const streams: Stream[] = [];
  const faults: string[] = [];
  let tokens = 0;

  const name = (workspaceId: string, number: number): string => `${workspaceId}${number}`;

  /**
   * Checks the order of deliveries: before a stream gets an event, it must have received all earlier unacked events of
   * the workspace. Only deliveries since the last redelivery began count as received. If a nack caused this redelivery,
   * deliveries of earlier events count too, because the redelivery does not start with the first unacked event.
   */
  function judgeOrder({ delivered }: Stream, { workspaceId, number }: Delivered): void {
    const mine = delivered.filter((each) => each.workspaceId === workspaceId).map((each) => each.number);
    let wentBack = mine.length - 1;
    while (wentBack > 0 && (mine[wentBack - 1] ?? 0) < (mine[wentBack] ?? 0)) wentBack--;
    const start = mine[wentBack] ?? 0;
    const before = nacked.has(name(workspaceId, start)) ? mine.filter((n) => n < start) : [];
    const since = new Set([...before, ...mine.slice(wentBack)]);
    for (let n = 0; n < number; n++) {
      if (!since.has(n) && !acked.has(name(workspaceId, n))) {
        faults.push(`${name(workspaceId, number)} came before ${name(workspaceId, n)}`);
      }
    }
  }

  /**
   * Checks that the events in flight do not exceed the window. Overdue events do not count; nor do later events of
   * their workspaces, which core redelivers with them. Nacked events that wait for their redelivery do not count
   * either.
   */
  function judgeWindow(stream: Stream): void {
    const overdue = performance.now() - DEADLINE_MS;
    const unacked = [...latest].filter(
      ([event, last]) => last.stream === stream && !acked.has(event) && !givenBack.has(event),
    );
    const out = unacked.filter(
      ([, { workspaceId, number }]) =>
        !unacked.some(
          ([, last]) => last.atMs <= overdue && last.workspaceId === workspaceId && number >= last.number,
        ),
    );
    if (out.length > window) faults.push(`${out.length} events are in flight, but the window is ${window}`);
  }

  function open(consumer: string): Stream {
    const connection = memory.connect();
    const over = new AbortController();
    const delivered: Delivered[] = [];
    const unsent = { isBehind: false };
    const follower = follow(connection.log, {
      isBehind: () => unsent.isBehind,
      member: { group: "g", name: consumer, token: `t${tokens++}` },
      enteredAt: performance.now(),
      window,
      ackDeadlineMs: DEADLINE_MS,
      parking,
      deliver(id, entry) {
        if (over.signal.aborted) return;
        const { workspaceId, attempt } = entry;
        const one = { id, workspaceId, attempt, number: numberOf(entry), atMs: performance.now() };
        delivered.push(one);
        latest.set(name(workspaceId, one.number), { ...one, stream });
        givenBack.delete(name(workspaceId, one.number));
        judgeOrder(stream, one);
        if (!memory.wasAway) judgeWindow(stream);
      },
    });
    const stream: Stream = {
      consumer,
      unsent,
      delivered,
      follower,
      ended: undefined,
      connection,
      stop() {
        over.abort();
        follower.stop();
      },
      crash() {
        connection.crash();
        stream.ended = "stopped";
        stream.stop();
      },
    };
    void follower.ended.then((how) => (stream.ended = how));
    streams.push(stream);
    return stream;
  }

  function ack(stream: Stream, ...delivered: readonly Delivered[]): void {
    for (const { workspaceId, number } of delivered) acked.add(name(workspaceId, number));
    stream.follower.ack(delivered.map(({ id }) => id));
  }

  /** Returns the deliveries of a stream that wait for an ack, except events that wait for a redelivery after a nack. */
  function waiting({ delivered }: Stream): readonly Delivered[] {
    return delivered.filter(({ workspaceId, number }) => {
      const event = name(workspaceId, number);
      return !acked.has(event) && !givenBack.has(event);
    });
  }

  function nack(stream: Stream, delayMs: number, ...delivered: readonly Delivered[]): void {
    for (const { workspaceId, number } of delivered) {
      nacked.add(name(workspaceId, number));
      for (const [event, last] of latest) {
        const isLater = last.workspaceId === workspaceId && last.number >= number;
        if (isLater && last.stream === stream) givenBack.add(event);
      }
    }
    stream.follower.nack(
      delivered.map(({ id }) => id),
      delayMs,
    );
  }

  /** Appends events, and advances the clock by 500 ms, so that the streams receive the events. */
  function append(...workspaceIds: readonly WorkspaceId[]): Promise<void> {
    for (const workspaceId of workspaceIds) memory.append(workspaceId);
    return pass(500);
  }

  /** Makes the store unavailable for `ms` milliseconds. */
  async function away(ms: number): Promise<void> {
    memory.away = true;
    await pass(ms);
    memory.away = false;
  }

  const alive = (): Stream[] => streams.filter(({ ended }) => ended === undefined);
  return { memory, streams, faults, open, ack, nack, waiting, append, away, alive };
}

export type Group = ReturnType<typeof createGroup>;

export const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

export function seen({ delivered }: Stream): readonly string[] {
  return delivered.map(({ workspaceId, number, attempt }) => `${workspaceId}${number}/${attempt}`);
}

export async function closeAll({ streams }: Group): Promise<void> {
  for (const stream of streams) stream.stop();
  // The lease timers of a crashed stream run until the leases expire.
  await pass(LEASE_MS);
  expect(jest.getTimerCount()).toBe(0);
}
