import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Workspace } from "../domain/workspace";
import { changesBetween, type Change } from "../domain/workspace-changes";
import { StoreUnavailable } from "../ports/store-faults";
import type { WorkspaceRecord, Workspaces } from "../ports/workspaces";

export interface WriteContext {
  readonly workspaces: Workspaces;
  /** Name of the caller's token, for the log of changes. */
  readonly by: string;
  /** Called after each change, so that core can log it. */
  onChanged(workspaceId: string, change: Change): void;
}

const AGAIN_AFTER_MS = 200;
const AGAIN_FOR_MS = 2_000;

/**
 * Replaces the workspace `before` with `written`, or creates `written` if `before` is undefined. Logs the changes with
 * the name of the caller's token. Resolves with false when another call has changed the workspace meanwhile, or
 * when the id of a new workspace already exists.
 *
 * A write can succeed even if its answer is lost. In that case, a new secret that nobody has seen would be active, so
 * core repeats the write. The store checks the version, or the id of a new workspace, so a repeated write cannot take
 * effect twice. The stored workspace then shows whether this write succeeded. Reading the workspace is not enough: only
 * the answer to a write shows that the configured number of replicas confirmed it.
 */
export async function writeWorkspace(
  { workspaces, by, onChanged }: WriteContext,
  written: Workspace,
  before?: WorkspaceRecord,
): Promise<boolean> {
  const changes = changesBetween(before?.workspace, written, by);
  const write = (): Promise<boolean> =>
    before === undefined
      ? workspaces.create(written, changes)
      : workspaces.replace(written, before.version, changes);
  const isWritten = await writeRepeatedly(write, async () =>
    cameOf(await workspaces.read(written.id), written, before),
  );
  if (isWritten) for (const change of changes) onChanged(written.id, change);
  return isWritten;
}

/** @param isStored returns whether the store contains the written workspace */
async function writeRepeatedly(
  write: () => Promise<boolean>,
  isStored: () => Promise<boolean>,
): Promise<boolean> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const until = performance.now() + AGAIN_FOR_MS;
    while (performance.now() < until) {
      await sleep(AGAIN_AFTER_MS);
      try {
        if ((await write()) || (await isStored())) return true;
        break;
      } catch (again) {
        if (!(again instanceof StoreUnavailable)) throw again;
      }
    }
    throw error;
  }
}

/**
 * Whether a record contains the workspace `written`. If `written` has a new secret, a later version of the workspace
 * with the same secret also counts.
 */
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
