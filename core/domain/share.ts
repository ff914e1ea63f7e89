export interface ShareOptions {
  readonly shards: number;
  /** The name among the members. */
  readonly name: string;
  /** Says that this member is alive. Answers the names of all alive, in order; undefined: a newer one took the name. */
  join(): Promise<readonly string[] | undefined>;
  /** Takes, keeps or lets go of a shard, by whether it is this member's. */
  settle(shard: number, isMine: boolean): Promise<void>;
  /** Told of what joining and settling reject with. */
  onFault(error: unknown): void;
}

/** A member's part of the shards: the n-th of m living members has every shard that leaves n when divided by m. */
export interface Share {
  /** Joins, and begins to settle every shard. Resolves when it has begun. */
  beat(): Promise<void>;
  /** Resolves when nothing that was begun is under way. */
  idle(): Promise<void>;
}

const JOIN_WITHIN_MS = 500;

/**
 * Shards may be kept on several servers, so none waits for another's: one that
 * takes long to settle is left out of the next beats until it has. And while the
 * server that knows who is alive is out of reach, what it said last holds.
 */
export function createShare({ shards, name, join, settle, onFault }: ShareOptions): Share {
  let alive: readonly string[] = [];
  let joining: Promise<void> | undefined;
  let beating: Promise<void> | undefined;
  const settling = new Map<number, Promise<void>>();

  async function joinAgain(): Promise<void> {
    alive = (await join()) ?? [];
  }

  async function beatOnce(): Promise<void> {
    joining ??= joinAgain()
      .catch(onFault)
      .finally(() => (joining = undefined));
    await within(JOIN_WITHIN_MS, joining);
    const place = alive.indexOf(name);
    for (let shard = 0; shard < shards; shard++) {
      if (settling.has(shard)) continue;
      const isMine = place >= 0 && shard % alive.length === place;
      const settled = settle(shard, isMine)
        .catch(onFault)
        .finally(() => settling.delete(shard));
      settling.set(shard, settled);
    }
  }

  return {
    beat() {
      beating ??= beatOnce().finally(() => (beating = undefined));
      return beating;
    },
    async idle() {
      await beating;
      await Promise.all(settling.values());
    },
  };
}

/** Waits for a promise that does not reject, but no longer than `ms`. */
async function within(ms: number, promise: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
