import { isRefusal, REQUEST_KINDS, type RequestKind } from "../../contract/requests";

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

/** Returns the counts in a text. A letter of a newer release is ignored. */
export function readCounts(text: string): KindCounts {
  const counts: KindCounts = {};
  for (const [, letter = "", digits] of text.matchAll(/([a-zA-Z])(\d+)/g)) {
    const kind = KINDS.get(letter);
    if (kind !== undefined) counts[kind] = Number(digits);
  }
  return counts;
}

/** The counts of a workspace that are not stored yet. */
export interface Pending {
  readonly workspaceId: string;
  readonly counts: KindCounts;
}
interface Waiting extends Pending {
  readonly sinceMs: number;
}

/**
 * Maximum number of workspaces with counts that are not stored yet: with refusals, and with other counts. An entry takes
 * about 300 bytes, so all entries take at most 12 MB. Counts of further workspaces are lost until the next write, which
 * is at most ten seconds later.
 */
const WORKSPACES_MAX = { soon: 4_096, later: 32_768 } as const;
/** Milliseconds for which accepted requests and pushes wait to be stored, so that a poll does not cause a write. */
const LATER_MS = 9_000;

/** Collects the counts of workspaces until they are stored. All times are values of `performance.now()`. */
export class PendingCounts {
  readonly #max: Readonly<Record<keyof typeof WORKSPACES_MAX, number>>;
  /** The counts of refusals, which are stored soon. */
  readonly #soon = new Map<string, Waiting>();
  /** All other counts, in the order in which they are due. */
  readonly #later = new Map<string, Waiting>();

  constructor(max: Readonly<Record<keyof typeof WORKSPACES_MAX, number>> = WORKSPACES_MAX) {
    this.#max = max;
  }

  add(workspaceId: string, kind: RequestKind, count: number, nowMs: number): void {
    const isSoon = isRefusal(kind);
    const waiting = isSoon ? this.#soon : this.#later;
    let entry = waiting.get(workspaceId);
    if (entry === undefined) {
      if (waiting.size >= (isSoon ? this.#max.soon : this.#max.later)) return;
      entry = { workspaceId, counts: {}, sinceMs: nowMs };
      waiting.set(workspaceId, entry);
    }
    entry.counts[kind] = (entry.counts[kind] ?? 0) + count;
  }

  /** Removes and returns the counts that are due. */
  take(nowMs: number): readonly Pending[] {
    const due: Waiting[] = [...this.#soon.values()];
    this.#soon.clear();
    for (const entry of this.#later.values()) {
      if (nowMs - entry.sinceMs < LATER_MS) break;
      due.push(entry);
      this.#later.delete(entry.workspaceId);
    }
    return due;
  }

  /** Removes and returns all counts. */
  takeAll(): readonly Pending[] {
    return this.take(Infinity);
  }

  /** Adds counts that could not be stored. */
  putBack(entries: readonly Pending[], nowMs: number): void {
    for (const { workspaceId, counts } of entries) {
      for (const [kind, count] of Object.entries(counts)) {
        this.add(workspaceId, kind as RequestKind, count, nowMs);
      }
    }
  }
}
