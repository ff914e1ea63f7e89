import { isRefusal, REQUEST_KINDS, type RequestKind } from "../../contract/requests";
import { FirstRequests, isAccepted } from "./first-requests";

/** For each kind of request, the letter under which Redis stores its count. A stored letter never changes. */
const LETTERS: Readonly<Record<RequestKind, string>> = {
  post: "a",
  poll: "b",
  push: "c",
  "push-failed": "d",
  "not-json": "e",
  invalid: "f",
  signature: "g",
  "push-workspace": "h",
  disconnected: "i",
  timestamp: "j",
  "too-large": "k",
  "address-limit": "l",
  "workspace-limit": "m",
  "secret-unreadable": "n",
};
const KINDS = new Map(REQUEST_KINDS.map((kind) => [LETTERS[kind], kind]));

export type KindCounts = Partial<Record<RequestKind, number>>;

/** Returns counts as Redis stores them, e.g. `a12g3`. */
export function countsText(counts: KindCounts): string {
  return Object.entries(counts)
    .map(([kind, count]) => LETTERS[kind as RequestKind] + String(count))
    .join("");
}

/** Parses counts as Redis stores them. A letter that only a newer release uses is ignored. */
export function readCounts(text: string): KindCounts {
  const counts: KindCounts = {};
  for (const [, letter = "", digits] of text.matchAll(/([a-zA-Z])(\d+)/g)) {
    const kind = KINDS.get(letter);
    if (kind !== undefined) counts[kind] = Number(digits);
  }
  return counts;
}

/** The counts and samples of a workspace that are not stored yet. */
export interface Pending {
  readonly workspaceId: string;
  readonly counts: KindCounts;
  /** The encoded sample of each class. */
  readonly samples: Map<string, string>;
}
interface Waiting extends Pending {
  readonly sinceMs: number;
}

/**
 * Maximum numbers of workspaces with unstored refusals (`soon`), of workspaces with other unstored counts (`later`),
 * and of samples. An entry takes about 300 bytes, and a sample at most 1 KB, so together they take at most 16 MB.
 * Counts that exceed these numbers are lost until the next write, which is at most ten seconds later.
 */
const PENDING_MAX = { soon: 4_096, later: 32_768, samples: 4_096 } as const;
/**
 * Maximum number of workspaces whose counts are stored early in one write, because one of their accepted requests is a
 * first request. The limit matters after core has started, because every workspace then makes a first request. The
 * counts of further workspaces are stored after `LATER_MS`.
 */
const EARLY_MAX = 256;
/** Milliseconds for which pushes and most accepted requests wait to be stored, so that a poll does not cause a write. */
const LATER_MS = 9_000;

/** Collects the counts of workspaces until they are stored. All times are values of `performance.now()`. */
export class PendingCounts {
  readonly #max: Readonly<Record<keyof typeof PENDING_MAX, number>>;
  /** The counts of refusals, which are stored soon. */
  readonly #soon = new Map<string, Waiting>();
  /** All other counts, in the order in which they are due. */
  readonly #later = new Map<string, Waiting>();
  /** The workspaces in `#later` whose counts are stored with the next refusals. */
  readonly #early = new Set<string>();
  readonly #firsts = new FirstRequests();
  /** Total number of samples in all entries. */
  #samples = 0;

  constructor(max: Readonly<Record<keyof typeof PENDING_MAX, number>> = PENDING_MAX) {
    this.#max = max;
  }

  add(workspaceId: string, kind: RequestKind, count: number, nowMs: number): void {
    this.#count(workspaceId, kind, count, nowMs);
    if (isRefusal(kind)) this.#firsts.refused(workspaceId);
    if (!isAccepted(kind) || !this.#firsts.accepted(workspaceId, kind, nowMs)) return;
    if (this.#early.size < EARLY_MAX) this.#early.add(workspaceId);
  }

  #count(workspaceId: string, kind: RequestKind, count: number, nowMs: number): void {
    const isSoon = isRefusal(kind);
    const entry = isSoon
      ? this.#entry(this.#soon, this.#max.soon, workspaceId, nowMs)
      : this.#entry(this.#later, this.#max.later, workspaceId, nowMs);
    if (entry !== undefined) entry.counts[kind] = (entry.counts[kind] ?? 0) + count;
  }

  /** Returns whether a sample would be kept: the workspace has no sample of this class yet, and there is room. */
  isWanted(workspaceId: string, sampleClass: string): boolean {
    const entry = this.#soon.get(workspaceId);
    if (this.#samples >= this.#max.samples) return false;
    return entry === undefined ? this.#soon.size < this.#max.soon : !entry.samples.has(sampleClass);
  }

  keep(workspaceId: string, sampleClass: string, sample: string, nowMs: number): void {
    if (!this.isWanted(workspaceId, sampleClass)) return;
    this.#entry(this.#soon, this.#max.soon, workspaceId, nowMs)?.samples.set(sampleClass, sample);
    this.#samples += 1;
  }

  /** Returns the entry of a workspace; undefined when there is no room for another workspace. */
  #entry(
    waiting: Map<string, Waiting>,
    max: number,
    workspaceId: string,
    nowMs: number,
  ): Waiting | undefined {
    const known = waiting.get(workspaceId);
    if (known !== undefined || waiting.size >= max) return known;
    const entry = { workspaceId, counts: {}, samples: new Map<string, string>(), sinceMs: nowMs };
    waiting.set(workspaceId, entry);
    return entry;
  }

  /** Removes and returns the counts that are due. */
  take(nowMs: number): readonly Pending[] {
    const due: Waiting[] = [...this.#soon.values()];
    this.#soon.clear();
    this.#samples = 0;
    for (const entry of this.#later.values()) {
      if (nowMs - entry.sinceMs < LATER_MS) break;
      due.push(entry);
      this.#later.delete(entry.workspaceId);
    }
    for (const workspaceId of this.#early) {
      const entry = this.#later.get(workspaceId);
      if (entry !== undefined) due.push(entry);
      this.#later.delete(workspaceId);
    }
    this.#early.clear();
    return due;
  }

  /** Removes and returns all counts. */
  takeAll(): readonly Pending[] {
    return this.take(Infinity);
  }

  /** Adds counts that could not be stored. */
  putBack(entries: readonly Pending[], nowMs: number): void {
    for (const { workspaceId, counts, samples } of entries) {
      for (const [sampleClass, sample] of samples) this.keep(workspaceId, sampleClass, sample, nowMs);
      for (const [kind, count] of Object.entries(counts)) {
        this.#count(workspaceId, kind as RequestKind, count, nowMs);
      }
    }
  }
}
