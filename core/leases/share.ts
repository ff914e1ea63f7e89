import type { LiveMembers } from "../ports/leases";
import { ownersInTurn, ownersOf } from "./owners";

export interface ShareOptions {
  readonly shards: number;
  /** The name of this member. A member is a core, or a stream of a group of followers (see `Member`). */
  readonly name: string;
  /**
   * Reports that this member is alive. Resolves with all live members, or with undefined when this member cannot join the
   * group (see `NotJoined`).
   */
  join(): Promise<LiveMembers | undefined>;
  /** If the shard is in this member's share, acquires the shard or renews its lease. Otherwise releases the shard. */
  update(shard: number, isMine: boolean): Promise<void>;
  /** Called when `join` or `update` rejects. */
  onFault(error: unknown): void;
}

/** A member's share of the shards: the shards whose owner is this member (see `ownersOf`). */
export type Share = ReturnType<typeof createShare>;

const JOIN_WITHIN_MS = 500;

/**
 * Creates the share of a member. Shards may be on different servers, so a beat does not wait for its updates. Later
 * beats skip a shard whose update is still pending. While the server with the list of members is unreachable, the last
 * known list is used.
 */
export function createShare({ shards, name, join, update, onFault }: ShareOptions) {
  /** The name of each shard's owner; empty until this member has joined. */
  let owners: readonly string[] = [];
  let known = "";
  let joining: Promise<void> | undefined;
  let beating: Promise<void> | undefined;
  const updating = new Map<number, Promise<void>>();

  async function joinAgain(): Promise<void> {
    const alive = await join();
    const list = alive === undefined ? "" : `${alive.hasOlder} ${alive.names.join(" ")}`;
    if (list === known) return;
    known = list;
    if (alive === undefined) owners = [];
    else owners = (alive.hasOlder ? ownersInTurn : ownersOf)(shards, alive.names);
  }

  async function beatOnce(): Promise<void> {
    joining ??= joinAgain()
      .catch(onFault)
      .finally(() => (joining = undefined));
    await within(JOIN_WITHIN_MS, joining);
    for (let shard = 0; shard < shards; shard++) {
      if (updating.has(shard)) continue;
      const updated = update(shard, owners[shard] === name)
        .catch(onFault)
        .finally(() => updating.delete(shard));
      updating.set(shard, updated);
    }
  }

  return {
    /**
     * Joins the group, and starts an update of every shard that has no pending update. Resolves when these updates have
     * been started.
     */
    beat(): Promise<void> {
      beating ??= beatOnce().finally(() => (beating = undefined));
      return beating;
    },
    /** Resolves when the current beat and all started updates are finished. */
    async idle(): Promise<void> {
      await beating;
      await Promise.all(updating.values());
    },
  };
}

/** Waits until `promise` resolves, but at most `ms` milliseconds. The promise must not reject. */
async function within(ms: number, promise: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
