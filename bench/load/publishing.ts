import { publish, type CoreClients, type Workspace } from "../core-clients";
import type { Pids } from "../cpu";
import type { Side } from "../rounds";
import { cardEvent } from "../sample-events";
import type { Service } from "../service";
import { BATCH, inBatches, IN_FLIGHT } from "./batches";

/** Publishing to workspaces in turn. After each run held events are compared with published ones, and removed. */
export function heldPublishing(
  { clients, store }: Service,
  workspaces: readonly Workspace[],
  pids: Pids,
): Side {
  return {
    pids,
    run: (seconds) => inBatches(seconds, (numbers) => publishInTurn(clients, workspaces, numbers)),
    async settle({ count }) {
      await store.assertHeld(count);
      await store.emptyHeld();
    },
  };
}

/** Publishes `count` events to the workspaces in turn. */
export async function publishSome(
  clients: CoreClients,
  workspaces: readonly Workspace[],
  count: number,
): Promise<void> {
  let number = 0;
  const work = async (): Promise<void> => {
    while (number < count) {
      const from = number;
      number = Math.min(count, from + BATCH);
      const numbers = Array.from({ length: number - from }, (_, i) => from + i);
      await publishInTurn(clients, workspaces, numbers);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
}

/** Publishes one event for each number, in one call. */
export function publishInTurn(
  clients: CoreClients,
  workspaces: readonly Workspace[],
  numbers: readonly number[],
): Promise<unknown> {
  const events = numbers.map((number) => {
    const workspace = workspaces[number % workspaces.length];
    if (workspace === undefined) throw new Error("there are no workspaces");
    return cardEvent(workspace.id, number);
  });
  return publish(clients, events);
}
