import { inTurn, publish, type CoreClients, type Workspace } from "../core-clients";
import type { Pids } from "../cpu";
import type { Measure, Side } from "../slices";
import { cardEvent } from "../sample-events";
import type { Service } from "../service";

/** Number of events per call to core, or per pipeline of the reference. */
export const BATCH = 100;
/** Number of calls or pipelines in flight. */
const IN_FLIGHT = 8;

/**
 * Calls `make` with batches of consecutive numbers, `IN_FLIGHT` calls at a time, until `seconds` or `limit` is reached.
 */
export async function inBatches(
  { seconds = Infinity, limit = Infinity }: { readonly seconds?: number; readonly limit?: number },
  make: (numbers: readonly number[]) => Promise<unknown>,
): Promise<Measure> {
  const fromMs = Date.now();
  const endMs = fromMs + seconds * 1000;
  let number = 0;
  const work = async (): Promise<void> => {
    while (Date.now() < endMs && number < limit) {
      const from = number;
      number = Math.min(limit, from + BATCH);
      await make(Array.from({ length: number - from }, (_, i) => from + i));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  return { count: number, fromMs, toMs: Date.now() };
}

/**
 * Publishes to workspaces in turn. `settle` compares the number of held events with the number of published events, and
 * removes the held events.
 */
export function heldPublishing(
  { clients, store }: Service,
  workspaces: readonly Workspace[],
  pids: Pids,
): Side {
  return {
    pids,
    run: (seconds) => inBatches({ seconds }, (numbers) => publishInTurn(clients, workspaces, numbers)),
    async settle({ count }) {
      await store.assertHeld(count);
      await store.emptyHeld();
    },
  };
}

/** Publishes `limit` events to the workspaces in turn. */
export async function publishSome(
  clients: CoreClients,
  workspaces: readonly Workspace[],
  limit: number,
): Promise<void> {
  await inBatches({ limit }, (numbers) => publishInTurn(clients, workspaces, numbers));
}

/** Publishes one event for each number, in one call. */
export function publishInTurn(
  clients: CoreClients,
  workspaces: readonly Workspace[],
  numbers: readonly number[],
): Promise<void> {
  return publish(
    clients,
    numbers.map((number) => cardEvent(inTurn(workspaces, number).id, number)),
  );
}
