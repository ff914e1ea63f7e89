import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Workspace } from "../domain/workspace";
import { StoreUnavailable } from "../ports/store-unavailable";
import type { WorkspaceRecord, Workspaces } from "../ports/workspaces";

const AGAIN_AFTER_MS = 200;
const AGAIN_FOR_MS = 2_000;

/**
 * Writes a workspace in the place of `before`, or as a new one. False when somebody else
 * changed it meanwhile, or has the id.
 *
 * A write may be done and its answer lost: a new secret would then be in force that nobody
 * was shown. So it is written again, which a version lets happen but once, and what is
 * there by then says whose it is. It is not enough to read: the answer to a write says
 * that replicas have it, where they are to.
 */
export async function writeWorkspace(
  workspaces: Workspaces,
  written: Workspace,
  before?: WorkspaceRecord,
): Promise<boolean> {
  const write = (): Promise<boolean> =>
    before === undefined ? workspaces.create(written) : workspaces.replace(written, before.version);
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const until = performance.now() + AGAIN_FOR_MS;
    while (performance.now() < until) {
      await sleep(AGAIN_AFTER_MS);
      const isThere = await unlessAway(
        async () => (await write()) || cameOf(await workspaces.read(written.id), written, before),
      );
      if (isThere === true) return true;
      if (isThere === false) break;
    }
    throw error;
  }
}

/** Undefined when the store is away. */
async function unlessAway<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}

/** Whether a record is what was written or, where that had a new secret, what others made of it since. */
function cameOf(
  record: WorkspaceRecord | undefined,
  written: Workspace,
  before: WorkspaceRecord | undefined,
): boolean {
  if (record === undefined) return false;
  const has = ({ secrets }: Workspace): boolean =>
    secrets.some(({ value }) => value === written.secrets[0]?.value);
  const isSecretNew = written.secrets.length > 0 && !(before !== undefined && has(before.workspace));
  return isSecretNew ? has(record.workspace) : isDeepStrictEqual(record.workspace, written);
}
