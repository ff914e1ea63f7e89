import { setTimeout as sleep } from "node:timers/promises";
import { PUSHES_LOGGED_MAX } from "../../contract/deliveries";
import { isPoll, type LoggedDelivery } from "../domain/delivery";
import { LOGGED_MAX } from "../ports/delivery-log";
import type { RefusedRequests, WorkspaceRequests } from "../ports/hour-counts";
import type { Workspaces } from "../ports/workspaces";
import { readHealth, type HealthContext, type WorkspaceHealth } from "./read-health";
import { NOT_FOUND, type WorkspaceRefusal } from "./workspaces";

export type WorkspaceChange =
  | { readonly health: WorkspaceHealth }
  | { readonly delivery: LoggedDelivery }
  | { readonly requests: WorkspaceRequests }
  /** A heartbeat: the store has answered, and nothing has changed. */
  | { readonly unchanged: true };

const LOOK_EVERY_MS = 300;
const HEALTH_EVERY_MS = 2_000;
/** Core stores a refusal within half a second, so a watcher learns of the refusal within two seconds. */
const REQUESTS_EVERY_MS = 900;
/** Milliseconds without a change until `report` is called with a heartbeat. */
const BEAT_AFTER_MS = 1_000;

type Report = (change: WorkspaceChange) => void;

/**
 * Follows a workspace. Calls `report` with the workspace's health and requests in the next round, and whenever they
 * change. Also calls `report` with each new delivery. A run of polls counts as one delivery, which is reported again
 * each time the run has grown. After a second without a change, calls `report` with a heartbeat, if the store answers.
 * Resolves with undefined when the signal is aborted, or with a refusal when the workspace does not exist or is
 * deleted.
 */
export type WatchWorkspace = (
  id: string,
  report: Report,
  signal: AbortSignal,
) => Promise<WorkspaceRefusal | undefined>;

interface Watcher {
  readonly report: Report;
  readonly signal: AbortSignal;
  /** Whether the watcher has received the health and the requests that were read before it joined. */
  isCurrent: boolean;
}

interface Watched {
  readonly watchers: Set<Watcher>;
  readonly stop: AbortController;
  readonly ended: Promise<WorkspaceRefusal | undefined>;
}

type Context = HealthContext & {
  readonly workspaces: Workspaces;
  readonly refusedRequests: Pick<RefusedRequests, "read">;
};

/**
 * Creates the watches of a core. All watches of a workspace share the same reads, so an additional watch causes no
 * calls to the store.
 */
export function createWorkspaceWatches(context: Context): WatchWorkspace {
  const open = new Map<string, Watched>();

  function start(id: string): Watched {
    const watchers = new Set<Watcher>();
    const stop = new AbortController();
    const forget = (): void => {
      if (open.get(id)?.watchers === watchers) open.delete(id);
    };
    stop.signal.addEventListener("abort", forget);
    const watched = { watchers, stop, ended: follow(context, id, watchers, stop.signal).finally(forget) };
    open.set(id, watched);
    return watched;
  }

  return async (id, report, signal) => {
    const { watchers, stop, ended } = open.get(id) ?? start(id);
    const watcher = { report, signal, isCurrent: false };
    watchers.add(watcher);
    try {
      return await Promise.race([ended, whenAborted(signal)]);
    } finally {
      watchers.delete(watcher);
      if (watchers.size === 0) {
        stop.abort();
        // The last watch waits until the reads have ended, so that watches that open and close quickly cause no
        // parallel reads.
        await ended.catch(() => undefined);
      }
    }
  };
}

/**
 * Reads the changes of a workspace for all its watchers, until `signal` is aborted. Each round reads only the deliveries
 * that were logged since the previous round. The pushes from which the health is computed are read once. Each round then
 * adds the new pushes, and keeps at most `PUSHES_LOGGED_MAX` pushes.
 */
async function follow(
  context: Context,
  id: string,
  watchers: ReadonlySet<Watcher>,
  signal: AbortSignal,
): Promise<WorkspaceRefusal | undefined> {
  const readFresh = await context.deliveryLog.watch(id);
  let pushes: readonly LoggedDelivery[] | undefined;
  const health = new LastReport();
  const requests = new LastReport();
  let healthAt = 0;
  let requestsAt = 0;
  let beatAt = 0;
  function tell(change: WorkspaceChange): void {
    for (const watcher of watchers) {
      if (watcher.signal.aborted) continue;
      watcher.report(change);
    }
    beatAt = performance.now() + BEAT_AFTER_MS;
  }
  while (!signal.aborted) {
    const fresh = await readFresh();
    // The store has answered, so watchers that joined since the previous round get the last report of each kind.
    for (const watcher of watchers) {
      if (watcher.isCurrent) continue;
      for (const { change } of [health, requests]) if (change !== undefined) watcher.report(change);
      watcher.isCurrent = true;
    }
    for (const delivery of fresh) tell({ delivery });
    if (pushes !== undefined) pushes = withFresh(pushes, fresh);
    if (fresh.length > 0 || performance.now() >= healthAt) {
      const record = await context.workspaces.read(id);
      if (record === undefined) return NOT_FOUND;
      const found = { health: await readHealth(context, record.workspace, readPushes) };
      if (health.isNew(found)) tell(found);
      healthAt = performance.now() + HEALTH_EVERY_MS;
    }
    if (performance.now() >= requestsAt) {
      const found = { requests: await context.refusedRequests.read(id) };
      if (requests.isNew(found)) tell(found);
      requestsAt = performance.now() + REQUESTS_EVERY_MS;
    }
    if (performance.now() >= beatAt) tell({ unchanged: true });
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;

  async function readPushes(): Promise<readonly LoggedDelivery[]> {
    pushes ??= withFresh([], (await context.deliveryLog.read(id, LOGGED_MAX, undefined)).toReversed());
    return pushes;
  }
}

/** The last change of one kind, health or requests, that was reported to the watchers. */
class LastReport {
  change: WorkspaceChange | undefined;
  #text = "";

  /** Remembers a change. Returns whether it differs from the last one. */
  isNew(change: WorkspaceChange): boolean {
    const text = JSON.stringify(change);
    if (text === this.#text) return false;
    this.#text = text;
    this.change = change;
    return true;
  }
}

function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

/**
 * Returns `pushes` (newest first), extended with those pushes in `fresh` (oldest first) that `pushes` does not contain
 * yet.
 */
function withFresh(
  pushes: readonly LoggedDelivery[],
  fresh: readonly LoggedDelivery[],
): readonly LoggedDelivery[] {
  // `fresh` may repeat deliveries that `pushes` already contains.
  const known = new Set(pushes.slice(0, fresh.length).map((push) => push.id));
  const added = fresh.filter((each) => !isPoll(each) && !known.has(each.id)).toReversed();
  return added.length === 0 ? pushes : [...added, ...pushes].slice(0, PUSHES_LOGGED_MAX);
}
