import type { Lease } from "../leases/lease";
import type { FollowLog, ReadEntries, WindowShare } from "../ports/follow-log";
import type { Member } from "../ports/leases";
import { busiestPartOf } from "./next-read";
import { ParkedEvents, type Parking } from "./parked-events";

const START = { in: "unacked", after: undefined } as const;

/**
 * A shard whose lease a stream holds, and the stream's position in the log of the shard. The stream reads the unacked
 * entries first, and then the new entries. The unacked entries were already read, by another holder of the lease or by
 * a call whose answer was lost.
 */
export class FollowedShard {
  /** Whether the log of the shard may have entries to read. */
  stirred = true;
  /** Whether the last attempt to read the shard stopped because there was no room for more parked events. */
  isFull = false;
  /** The `performance.now()` time until which the stream waits for acks before it reads on: see `readsAfter`. */
  waitsUntil = 0;
  /** See `probablyFitting`. */
  busiestPart = 1;
  /** The events that wait until their workspaces have room in the window. */
  readonly parked: ParkedEvents;
  #position: { readonly in: "unacked"; readonly after: string | undefined } | { readonly in: "new" } = START;

  constructor(
    readonly lease: Lease,
    parking: Parking,
  ) {
    this.parked = new ParkedEvents(parking);
  }

  get isDraining(): boolean {
    return this.lease.state === "draining";
  }

  get isReadingNew(): boolean {
    return this.#position.in === "new";
  }

  /** Makes the next read start again with the first unacked entry. The unacked entries include the parked ones. */
  readFromStart(): void {
    this.parked.clear();
    this.isFull = false;
    this.waitsUntil = 0;
    this.#position = START;
    this.stirred = true;
  }

  /** Reads up to `count` entries. Resolves with undefined when the lease is lost. */
  async read(
    log: FollowLog,
    member: Member,
    count: number,
    share: WindowShare | undefined,
  ): Promise<ReadEntries | undefined> {
    const { shard } = this.lease;
    this.stirred = false;
    if (this.#position.in === "new") {
      const fresh = await log.readNew(member, shard, count, share);
      this.stirred ||= fresh?.isEnd === false;
      const all = [...(fresh?.entries ?? []), ...(fresh?.parked ?? [])];
      if (all.length > 0) this.busiestPart = busiestPartOf(all);
      return fresh;
    }
    const again = await log.readAgain(member, shard, count, this.#position.after, share);
    const isEnd = again !== undefined && again.last === undefined;
    this.#position = isEnd ? { in: "new" } : { in: "unacked", after: again?.last };
    this.stirred = true;
    return again;
  }
}
