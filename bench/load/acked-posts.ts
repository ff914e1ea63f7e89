import { setTimeout as sleep } from "node:timers/promises";
import { bearer, type Workspace } from "../core-clients";
import { check } from "../part";
import type { Service } from "../service";
import { receiveOverLane } from "./lane-receives";
import { openFollow } from "./streams";

const WINDOW = 1_000;
const ACKED_WITHIN_MS = 120_000;
/**
 * Milliseconds within which core removes events that every group has acked. Core looks for events to remove about once
 * a minute.
 */
const REMOVED_WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 500;

/**
 * Sends `count` events to core, which delivers them to the only group. The group acks all of them. Waits until core has
 * removed the events from the logs, or until `REMOVED_WITHIN_MS` have passed. Returns the number of events that remain
 * in the logs.
 */
export async function ackPosts(
  { clients, store }: Pick<Service, "clients" | "store">,
  workspaces: readonly Workspace[],
  count: number,
): Promise<number> {
  const acked = new Set<string>();
  const stream = await openFollow(clients.games, bearer("game"), {
    group: "memory",
    consumer: "one",
    window: WINDOW,
    onDelivery(received) {
      acked.add(received?.event?.id ?? "");
      return true;
    },
  });
  try {
    await receiveOverLane(clients, workspaces, "acked", count);
    await within(ACKED_WITHIN_MS, async () => acked.size === count);
    check(acked.size === count, `${count} events were accepted, but ${acked.size} were delivered`);
    await within(REMOVED_WITHIN_MS, async () => (await store.inboundEntries()) === 0);
    return await store.inboundEntries();
  } finally {
    stream.close();
  }
}

async function within(ms: number, holds: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end && !(await holds());)
    await sleep(LOOK_EVERY_MS);
}
