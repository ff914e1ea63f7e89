import { PARKED_EVENTS_MAX } from "../domain/bounds";
import type { ParkedEntry, WindowShare } from "../ports/follow-log";
import { hasPlace } from "./window-share";

/** The bound for the parked events of all streams of a core. */
export interface Parking {
  /**
   * Reserves places for parked events. Returns the function that releases these places; undefined when there is no
   * room.
   */
  reserve(places: number): (() => void) | undefined;
}

/** The number of places that are reserved at a time. */
const SECTION = 100;

/**
 * The parked events of one shard: the group has read them, but their workspaces have no room in the window. Each
 * workspace has its own line, and the lines take turns.
 */
export class ParkedEvents {
  /** Contains only workspaces with parked events. The workspace whose turn is next is first. */
  readonly #lines = new Map<string, string[]>();
  readonly #parking: Parking;
  /** Functions that each release one section of places. */
  readonly #sections: (() => void)[] = [];
  #size = 0;

  constructor(parking: Parking) {
    this.#parking = parking;
  }

  get size(): number {
    return this.#size;
  }

  get workspaceIds(): Iterable<string> {
    return this.#lines.keys();
  }

  /** Reserves places for `count` more events. Returns false when a bound is reached. */
  reserve(count: number): boolean {
    if (this.#size + count > PARKED_EVENTS_MAX.shard) return false;
    while (this.#sections.length * SECTION < this.#size + count) {
      const release = this.#parking.reserve(SECTION);
      if (release === undefined) {
        this.settle();
        return false;
      }
      this.#sections.push(release);
    }
    return true;
  }

  /** Releases the reserved places that are not in use. */
  settle(): void {
    while ((this.#sections.length - 1) * SECTION >= this.#size) {
      const release = this.#sections.pop();
      if (release === undefined) return;
      release();
    }
  }

  add({ workspaceId, entryId }: ParkedEntry): void {
    const line = this.#lines.get(workspaceId);
    if (line === undefined) this.#lines.set(workspaceId, [entryId]);
    else line.push(entryId);
    this.#size++;
  }

  /** Whether any parked event has a place in the window now. */
  hasNext(share: WindowShare): boolean {
    for (const id of this.#lines.keys()) if (hasPlace(share.counts.get(id) ?? 0, share)) return true;
    return false;
  }

  /** Removes and returns up to `most` events that have a place in the window now. */
  take(share: WindowShare, most: number): readonly string[] {
    const counts = new Map(share.counts);
    const { least } = share;
    let { room } = share;
    const taken: string[] = [];
    const waiting = [...this.#lines.keys()];
    for (let id = waiting.shift(); id !== undefined && taken.length < most; id = waiting.shift()) {
      const inFlight = counts.get(id) ?? 0;
      // The shares only shrink while this loop takes events. So a workspace that has no place now gets none later in
      // the loop.
      if (!hasPlace(inFlight, { room, least })) continue;
      taken.push(this.#shift(id));
      counts.set(id, inFlight + 1);
      room--;
      if (this.#lines.has(id)) waiting.push(id);
    }
    this.settle();
    return taken;
  }

  /** Removes and returns the first event of a line. Moves the line to the end, behind the other lines. */
  #shift(workspaceId: string): string {
    const line = this.#lines.get(workspaceId) ?? [];
    const entryId = line.shift();
    if (entryId === undefined) throw new Error(`no event of ${workspaceId} is parked`);
    this.#lines.delete(workspaceId);
    if (line.length > 0) this.#lines.set(workspaceId, line);
    this.#size--;
    return entryId;
  }

  clear(): void {
    this.#lines.clear();
    this.#size = 0;
    this.settle();
  }
}
