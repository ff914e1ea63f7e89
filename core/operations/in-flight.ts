import type { LogEntry } from "../ports/follow-log";
import type { Busy } from "./next-read";

/** An event that is delivered and not acked yet. */
interface Out {
  readonly entryId: string;
  readonly attempt: number;
  /** The `performance.now()` time of this delivery. */
  readonly deliveredAt: number;
  /** The `performance.now()` time at which the deadline of this delivery first began to run. */
  ranSince: number | undefined;
}

/** The unacked events of one workspace. */
interface Line {
  readonly shard: number;
  readonly workspaceId: string;
  /** In the order of the log; never empty. */
  readonly events: Out[];
  /** The first event, while its deadline runs. */
  running: { readonly event: Out; readonly deadline: number } | undefined;
  /** The consumer gave back the event `from` and all later events. They are redelivered at the time `dueAt`. */
  nack: { readonly from: string; readonly dueAt: number } | undefined;
  /** The number of events that the consumer gave back. */
  givenBack: number;
}

/** The lines of one shard. */
interface ShardLines {
  readonly ofWorkspace: Map<string, Line>;
  /**
   * The line of each event, by entry id. If the keys were delivery ids, each step of an event would have to join and
   * hash an id.
   */
  readonly ofEvent: Map<string, Line>;
}

/** Milliseconds for which the deadline of an event can be extended after it first began to run. */
export const EXTEND_WITHIN_MS = 600_000;

/** Redis reads each half of an entry id as an unsigned 64-bit number. Every number of 19 digits fits in 64 bits. */
const DELIVERY_ID_FORM = /^(\d{1,5}):(\d{1,19}-\d{1,19})$/;

/**
 * Returns an id that is unique across all shards. `game.proto` promises the maximum length of this id, and that the id
 * does not contain "/".
 */
export function deliveryId(shard: number, entryId: string): string {
  return `${shard}:${entryId}`;
}

export function parseDeliveryId(
  id: string,
  shards: number,
): { readonly shard: number; readonly entryId: string } | undefined {
  const form = DELIVERY_ID_FORM.exec(id);
  const shard = Number(form?.[1]);
  return form?.[2] !== undefined && shard < shards ? { shard, entryId: form[2] } : undefined;
}

/**
 * The events of one stream that are delivered and not acked yet.
 *
 * A consumer processes the events of a workspace one after the other. So a deadline runs only for the first unacked event
 * of each workspace: from its delivery, or from the ack of the event before it. After a nack, no deadline runs for the
 * events that the consumer gave back.
 */
export class InFlight {
  readonly #ackDeadlineMs: number;
  /** Contains only shards with events. */
  readonly #shards = new Map<number, ShardLines>();
  #size = 0;
  /** The lines whose first event has a running deadline, in the order of the deadlines. */
  readonly #running = new Set<Line>();
  /** The lines with a nack. */
  readonly #nacked = new Set<Line>();
  #givenBack = 0;

  constructor(ackDeadlineMs: number) {
    this.#ackDeadlineMs = ackDeadlineMs;
  }

  get size(): number {
    return this.#size;
  }

  /** The number of events that the consumer gave back and that are not redelivered yet. */
  get givenBack(): number {
    return this.#givenBack;
  }

  /** Returns the number of unacked events for each workspace in a shard that has unacked events. */
  countsIn(shard: number): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { workspaceId, events } of this.#linesIn(shard)) counts.set(workspaceId, events.length);
    return counts;
  }

  /**
   * Returns the events in flight of each workspace in a shard. Omits workspaces with events that the consumer gave
   * back.
   */
  busyIn(shard: number): readonly Busy[] {
    const busy: Busy[] = [];
    for (const { events, nack } of this.#linesIn(shard)) {
      const [first] = events;
      if (first && nack === undefined) busy.push({ inFlight: events.length, since: first.deliveredAt });
    }
    return busy;
  }

  /** Whether at most one workspace has events in flight, and this workspace is in the shard. */
  isAlone(shard: number): boolean {
    const lines = this.#shards.get(shard)?.ofWorkspace.size ?? 0;
    return lines <= 1 && this.#shards.size === lines;
  }

  /** Returns the workspaces in a shard whose events the consumer gave back. */
  givenBackIn(shard: number): readonly string[] {
    if (this.#givenBack === 0) return [];
    const lines = [...this.#nacked].filter((line) => line.shard === shard);
    return lines.map(({ workspaceId }) => workspaceId);
  }

  /** The `performance.now()` time at which events must next be redelivered; `Infinity` when there is none. */
  get nextDeadline(): number {
    const [first] = this.#running;
    let next = first?.running?.deadline ?? Infinity;
    for (const { nack } of this.#nacked) next = Math.min(next, nack?.dueAt ?? Infinity);
    return next;
  }

  add(shard: number, { entryId, workspaceId, attempt }: LogEntry): void {
    if (this.isOut(shard, entryId)) this.remove(shard, [entryId]);
    const line = this.#openLine(shard, workspaceId);
    // Most events are later than all other events of their workspace.
    let at = line.events.length;
    while (at > 0 && compareEntryIds(line.events[at - 1]?.entryId ?? "", entryId) > 0) at--;
    const event = { entryId, attempt, deliveredAt: performance.now(), ranSince: undefined };
    if (at === line.events.length) line.events.push(event);
    else line.events.splice(at, 0, event);
    this.#shards.get(shard)?.ofEvent.set(entryId, line);
    this.#size++;
    this.#settle(line);
  }

  remove(shard: number, entryIds: readonly string[]): void {
    for (const entryId of entryIds) {
      const line = this.#lineOf(shard, entryId);
      if (line === undefined) continue;
      this.#shards.get(shard)?.ofEvent.delete(entryId);
      this.#size--;
      const { events, nack } = line;
      // Most consumers ack in order.
      const at = events[0]?.entryId === entryId ? 0 : firstFrom(events, entryId);
      if (at === 0) events.shift();
      else events.splice(at, 1);
      // The later events stay given back, even when the first one is redelivered without them.
      const next = events[at]?.entryId;
      if (nack?.from === entryId && next !== undefined) line.nack = { ...nack, from: next };
      this.#settle(line);
    }
  }

  has(shard: number): boolean {
    return this.#shards.has(shard);
  }

  isOut(shard: number, entryId: string): boolean {
    return this.#lineOf(shard, entryId) !== undefined;
  }

  /** Returns the workspace and the attempt of an event; undefined if the event is not in flight. */
  find(
    shard: number,
    entryId: string,
  ): { readonly workspaceId: string; readonly attempt: number } | undefined {
    const line = this.#lineOf(shard, entryId);
    const attempt = line?.events[firstFrom(line.events, entryId)]?.attempt;
    return line && attempt !== undefined ? { workspaceId: line.workspaceId, attempt } : undefined;
  }

  forget(shard: number): void {
    for (const line of this.#linesIn(shard)) {
      this.#size -= line.events.length;
      this.#running.delete(line);
      this.#nacked.delete(line);
      this.#givenBack -= line.givenBack;
    }
    this.#shards.delete(shard);
  }

  /** Starts the running deadline of an event again. Does nothing if no deadline runs for the event. */
  extend(shard: number, entryId: string): void {
    const line = this.#lineOf(shard, entryId);
    const event = line?.running?.event;
    if (line === undefined || event?.entryId !== entryId) return;
    if (performance.now() - (event.ranSince ?? 0) <= EXTEND_WITHIN_MS) this.#start(line, event);
  }

  /**
   * Makes `overdue` return an event, with the later unacked events of its workspace, after `delayMs`. If an earlier event
   * has a nack, the given event is redelivered with that event, because the order must be kept.
   */
  nack(shard: number, entryId: string, delayMs: number): void {
    const line = this.#lineOf(shard, entryId);
    if (line === undefined) return;
    if (line.nack !== undefined && compareEntryIds(line.nack.from, entryId) < 0) return;
    line.nack = { from: entryId, dueAt: performance.now() + delayMs };
    this.#nacked.add(line);
    this.#settle(line);
  }

  /**
   * Makes the events overdue that would delay the move of a shard to its next holder. These are the events with a nack,
   * and the events that have waited behind other events for longer than the ack deadline.
   */
  hurry(shard: number): void {
    const now = performance.now();
    for (const line of this.#linesIn(shard)) {
      const late = line.events.find(
        ({ deliveredAt }, i) => i > 0 && now - deliveredAt >= this.#ackDeadlineMs,
      );
      const [from] = [line.nack?.from, late?.entryId]
        .filter((id) => id !== undefined)
        .toSorted(compareEntryIds);
      if (from === undefined) continue;
      line.nack = { from, dueAt: now };
      this.#nacked.add(line);
      this.#settle(line);
    }
  }

  /** Whether an event waits for its redelivery after a nack of this event or of an earlier event of its workspace. */
  isGivenBack(shard: number, entryId: string): boolean {
    if (this.#givenBack === 0) return false;
    const nack = this.#lineOf(shard, entryId)?.nack;
    return nack !== undefined && compareEntryIds(nack.from, entryId) <= 0;
  }

  /**
   * Returns the entry ids of an overdue event and of all later in-flight events of the same workspace, in order. These
   * events are redelivered together, so that a consumer always receives events in order. Events whose nack is not due
   * are left out: they are redelivered later. Shards for which `isLeftOut` returns true are skipped.
   *
   * @param placesFor returns the number of given-back events that a workspace can get; `inFlight` is the number of the
   * workspace's other events
   */
  overdue(
    isLeftOut: (shard: number) => boolean = () => false,
    placesFor: (shard: number, inFlight: number) => number = () => Infinity,
  ) {
    const now = performance.now();
    for (const line of this.#running) {
      if ((line.running?.deadline ?? Infinity) > now) break;
      if (isLeftOut(line.shard)) continue;
      const { shard, events, givenBack, nack } = line;
      const kept = events.length - givenBack;
      const isDue = nack !== undefined && nack.dueAt <= now;
      const end = isDue ? kept + placesFor(shard, kept) : kept;
      return { shard, entryIds: events.slice(0, end).map(({ entryId }) => entryId) };
    }
    for (const { shard, events, givenBack, nack } of this.#nacked) {
      if (nack === undefined || nack.dueAt > now || isLeftOut(shard)) continue;
      const kept = events.length - givenBack;
      const given = events.slice(kept, kept + placesFor(shard, kept));
      if (given.length > 0) return { shard, entryIds: given.map(({ entryId }) => entryId) };
    }
    return undefined;
  }

  #linesIn(shard: number): Iterable<Line> {
    return this.#shards.get(shard)?.ofWorkspace.values() ?? [];
  }

  #lineOf(shard: number, entryId: string): Line | undefined {
    return this.#shards.get(shard)?.ofEvent.get(entryId);
  }

  #openLine(shard: number, workspaceId: string): Line {
    let lines = this.#shards.get(shard);
    if (lines === undefined) {
      lines = { ofWorkspace: new Map(), ofEvent: new Map() };
      this.#shards.set(shard, lines);
    }
    let line = lines.ofWorkspace.get(workspaceId);
    if (line === undefined) {
      line = { shard, workspaceId, events: [], running: undefined, nack: undefined, givenBack: 0 };
      lines.ofWorkspace.set(workspaceId, line);
    }
    return line;
  }

  #closeLine({ shard, workspaceId }: Line): void {
    const lines = this.#shards.get(shard);
    lines?.ofWorkspace.delete(workspaceId);
    if (lines?.ofWorkspace.size === 0) this.#shards.delete(shard);
  }

  /** Must be called after each change of a line's events or nack. */
  #settle(line: Line): void {
    const { events } = line;
    const last = events.at(-1);
    if (line.nack && (last === undefined || compareEntryIds(last.entryId, line.nack.from) < 0)) {
      line.nack = undefined;
      this.#nacked.delete(line);
    }
    const givenBack = line.nack ? events.length - firstFrom(events, line.nack.from) : 0;
    this.#givenBack += givenBack - line.givenBack;
    line.givenBack = givenBack;
    const [first] = events;
    if (first === undefined) this.#closeLine(line);
    if (first === undefined || events.length === givenBack) {
      line.running = undefined;
      this.#running.delete(line);
    } else if (line.running?.event !== first) this.#start(line, first);
  }

  #start(line: Line, event: Out): void {
    const now = performance.now();
    event.ranSince ??= now;
    const deadline = now + this.#ackDeadlineMs;
    const isMoved = line.running?.deadline !== deadline;
    line.running = { event, deadline };
    if (!isMoved) return;
    // The line moves to the end, so the set stays in the order of the deadlines.
    this.#running.delete(line);
    this.#running.add(line);
  }
}

/** Returns the index of the first event that is not before `entryId`. */
function firstFrom(events: readonly Out[], entryId: string): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareEntryIds(events[middle]?.entryId ?? "", entryId) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Entry ids are "<ms>-<n>", and neither number has leading zeros. */
function compareEntryIds(a: string, b: string): number {
  // Most ids have parts of the same lengths, so the ids can be compared as text.
  if (a.length === b.length && a.indexOf("-") === b.indexOf("-")) return a < b ? -1 : a > b ? 1 : 0;
  const [aMs = "", aN = ""] = a.split("-");
  const [bMs = "", bN = ""] = b.split("-");
  return Number(aMs) - Number(bMs) || Number(aN) - Number(bN);
}
