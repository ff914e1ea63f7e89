import { bearer, type Workspace } from "../core-clients";
import { check, CheckFault } from "../part";
import type { Measure, Side } from "../slices";
import type { Service } from "../service";
import { receiveOverLane } from "./lane-receives";
import { repeatEvents, untilAcked, type Redis } from "./repeated-events";
import { openFollow } from "./streams";

const DELIVERED_WITHIN_MS = 60_000;

/**
 * Creates a side that opens a `Follow` stream. The stream's group has a backlog of `count` events, from the workspaces
 * in turn, and the stream acks each event immediately. Only the time from the first to the last delivery is measured.
 */
export function backlogSide(
  { clients, store, pids }: Service,
  redis: Redis,
  workspaces: readonly Workspace[],
  { group, count, window }: { readonly group: string; readonly count: number; readonly window: number },
): Side {
  let run = 0;
  /** Number of events in the backlog. */
  let due = 0;
  const open = (onDelivery: () => void) =>
    openFollow(clients.games, bearer("game"), {
      group,
      consumer: "one",
      window,
      onDelivery() {
        onDelivery();
        return true;
      },
    });

  /** Resolves after `total` deliveries. */
  async function drain(total: number): Promise<Measure> {
    let delivered = 0;
    let fromMs = 0;
    let timer: NodeJS.Timeout | undefined;
    let end: () => void = () => undefined;
    const all = new Promise<void>((resolve, reject) => {
      end = resolve;
      const fault = () => new CheckFault(`only ${delivered} of ${total} events were delivered`);
      timer = setTimeout(() => reject(fault()), DELIVERED_WITHIN_MS);
    });
    const stream = await open(() => {
      if (delivered === 0) fromMs = Date.now();
      if (++delivered === total) end();
    });
    await all.finally(() => clearTimeout(timer));
    const toMs = Date.now();
    await untilAcked(redis, group);
    stream.close();
    await stream.ended;
    check(delivered === total, `${total} events were due, but ${delivered} were delivered`);
    return { count: total, fromMs, toMs };
  }

  return {
    pids: { core: pids.core, redis: pids.redis },
    async prepare() {
      // A group gets only the events that arrive after its first stream was opened.
      const first = await open(() => undefined);
      first.close();
      await first.ended;
      await receiveOverLane(clients, workspaces, `${group}${run++}`, workspaces.length);
      due = await repeatEvents(redis, count);
    },
    run: () => drain(due),
    settle: () => store.emptyInbound(),
  };
}
