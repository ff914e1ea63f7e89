import { setTimeout as sleep } from "node:timers/promises";
import type { UnreadableSecrets } from "../ports/meters";
import { StoreUnavailable } from "../ports/store-faults";
import type { SecretKeys } from "../ports/secret-keys";

/** Maximum number of ids in an `UnreadableSecrets`. */
const IDS_MAX = 5;
/** Milliseconds between two pages, so that the count never competes with requests. */
const PAGE_EVERY_MS = 100;
const COUNT_EVERY_MS = 600_000;
const AFTER_FAULT_MS = 1_000;

/**
 * Counts the workspaces whose secrets core cannot decrypt: immediately, and again ten minutes after each count.
 * Resolves when `signal` is aborted.
 *
 * @param onCounted called after each count
 * @param onFault called with each unexpected error
 */
export async function countUnreadable(
  secretKeys: Pick<SecretKeys, "list">,
  signal: AbortSignal,
  onCounted: (found: UnreadableSecrets) => void,
  onFault: (error: unknown) => void,
): Promise<void> {
  const pause = (ms: number) => sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
  while (!signal.aborted) {
    const found = await countOnce();
    if (found !== undefined) onCounted(found);
    await pause(COUNT_EVERY_MS);
  }

  async function countOnce(): Promise<UnreadableSecrets | undefined> {
    const workspaceIds: string[] = [];
    const keys = new Set<string>();
    let count = 0;
    let token: string | undefined = "";
    while (token !== undefined) {
      if (signal.aborted) return undefined;
      try {
        const page = await secretKeys.list(token);
        for (const use of page?.uses ?? []) {
          if (use.missingKeys.length === 0) continue;
          count += 1;
          if (workspaceIds.length < IDS_MAX) workspaceIds.push(use.workspaceId);
          for (const key of use.missingKeys) keys.add(key);
        }
        token = page?.next;
        if (token !== undefined) await pause(PAGE_EVERY_MS);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) {
          onFault(error);
          return undefined;
        }
        await pause(AFTER_FAULT_MS);
      }
    }
    return { count, workspaceIds, keys: [...keys] };
  }
}
