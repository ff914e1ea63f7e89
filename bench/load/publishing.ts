import { publish, type CoreClients, type Workspace } from "../core-clients";
import type { Measure } from "../rounds";
import { cardEvent } from "../sample-events";
import type { Store } from "../store";

/** Events of one call or pipeline, and calls or pipelines under way at once. */
export const BATCH = 100;
const IN_FLIGHT = 8;

/**
 * Makes batches of numbers, several under way at once, and answers how many
 * numbers a second were done.
 */
async function inBatches(
  seconds: number,
  make: (numbers: readonly number[]) => Promise<unknown>,
): Promise<Measure & { readonly count: number }> {
  const began = performance.now();
  const end = began + seconds * 1000;
  let number = 0;
  let count = 0;
  const work = async (): Promise<void> => {
    while (performance.now() < end) {
      const numbers = Array.from({ length: BATCH }, () => number++);
      await make(numbers);
      count += BATCH;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  return { perSecond: (count * 1000) / (performance.now() - began), count };
}

/** Publishes for so long, to the workspaces in turn. */
export function publishFor(
  clients: CoreClients,
  workspaces: readonly Workspace[],
  seconds: number,
): Promise<Measure & { readonly count: number }> {
  return inBatches(seconds, (numbers) =>
    publish(
      clients,
      numbers.map((number) => cardEvent(inTurn(workspaces, number).id, number)),
    ),
  );
}

/** Publishes so many events, to the workspaces in turn. */
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
      await publish(
        clients,
        numbers.map((each) => cardEvent(inTurn(workspaces, each).id, each)),
      );
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
}

/** Appends the same bytes straight to as many streams of the same Redis. */
export function appendFor(
  store: Store,
  workspaces: readonly Workspace[],
  envelope: string,
  seconds: number,
): Promise<Measure & { readonly count: number }> {
  return inBatches(seconds, (numbers) =>
    store.append(
      numbers.map((number) => ({ key: `reference:${inTurn(workspaces, number).id}`, value: envelope })),
    ),
  );
}

function inTurn(workspaces: readonly Workspace[], number: number): Workspace {
  const workspace = workspaces[number % workspaces.length];
  if (workspace === undefined) throw new Error("there are no workspaces");
  return workspace;
}
