import { setTimeout as sleep } from "node:timers/promises";
import type { LoggedDelivery } from "../domain/delivery";
import type { Workspaces } from "../ports/workspaces";
import { readHealth, type HealthContext, type WorkspaceHealth } from "./read-health";
import { NOT_FOUND, type WorkspaceRefusal } from "./workspace-change";

export type WorkspaceChange = { readonly health: WorkspaceHealth } | { readonly delivery: LoggedDelivery };

const LOOK_EVERY_MS = 300;
const HEALTH_EVERY_MS = 2_000;
const READ_MAX = 200;

/**
 * Follows a workspace: its health at once and whenever it changes, and every
 * delivery from now on. Ends when the signal does, or by a refusal when there is
 * no such workspace (any more).
 */
export async function watchWorkspace(
  context: HealthContext & { readonly workspaces: Workspaces },
  id: string,
  tell: (change: WorkspaceChange) => void,
  signal: AbortSignal,
): Promise<WorkspaceRefusal | undefined> {
  let [newest] = await context.deliveryLog.read(id, 1, undefined);
  let told: string | undefined;
  let healthAt = 0;
  while (!signal.aborted) {
    const fresh = await readNewer(newest?.id);
    for (const delivery of fresh) tell({ delivery });
    newest = fresh.at(-1) ?? newest;
    if (fresh.length > 0 || performance.now() >= healthAt) {
      const record = await context.workspaces.read(id);
      if (record === undefined) return NOT_FOUND;
      const health = await readHealth(context, record.workspace);
      const text = JSON.stringify(health ?? null);
      if (text !== told) tell({ health });
      told = text;
      healthAt = performance.now() + HEALTH_EVERY_MS;
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;

  /** Deliveries that came after an id, oldest first. */
  async function readNewer(after: string | undefined): Promise<readonly LoggedDelivery[]> {
    const read = await context.deliveryLog.read(id, READ_MAX, undefined);
    const known = read.findIndex((delivery) => delivery.id === after);
    return (known < 0 ? read : read.slice(0, known)).toReversed();
  }
}
