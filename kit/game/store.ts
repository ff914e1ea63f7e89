import type { WorkspaceDocument } from "./document";

/** A document, and the version under which it is stored. */
export interface StoredDocument {
  /** Increases by 1 with each save. */
  readonly version: number;
  readonly document: WorkspaceDocument;
}

/** A workspace, and the time at which it must be woken. */
export interface Wake {
  readonly workspaceId: string;
  /** ms since the epoch. */
  readonly atMs: number;
}

/**
 * Stores one document for each workspace of a game. The processes of a game share the store, unless the game has only one
 * process. A method rejects if the store is unavailable; the kit retries later.
 */
export interface GameStore {
  load(workspaceId: string): Promise<StoredDocument | undefined>;
  /**
   * Stores a document if the stored version is `version - 1` (0 if nothing is stored). Otherwise, resolves to false,
   * because another process has saved the workspace. When the promise resolves to true, the document is durable.
   *
   * @param wakeAtMs the time for `wakes`; undefined if the workspace need not be woken
   */
  save(workspaceId: string, stored: StoredDocument, wakeAtMs: number | undefined): Promise<boolean>;
  remove(workspaceId: string): Promise<void>;
  /** Returns the workspaces whose last save had a `wakeAtMs`. */
  wakes(): Promise<readonly Wake[]>;
  /** Closes connections. The kit does not use the store afterwards. */
  close?(): Promise<void>;
}

/**
 * Returns a store in memory. The state is lost when the process stops, so use this store only in tests and for short
 * games.
 *
 * @param workspacesMax the maximum number of workspaces; above it, the workspace that was saved least recently is
 * dropped
 */
export function memoryStore(workspacesMax = Infinity): GameStore {
  const stored = new Map<string, { readonly version: number; readonly text: string }>();
  const wakeTimes = new Map<string, number>();
  function remove(workspaceId: string): void {
    stored.delete(workspaceId);
    wakeTimes.delete(workspaceId);
  }
  return {
    async load(workspaceId) {
      const found = stored.get(workspaceId);
      return found && { version: found.version, document: JSON.parse(found.text) as WorkspaceDocument };
    },
    async save(workspaceId, { version, document }, wakeAtMs) {
      if ((stored.get(workspaceId)?.version ?? 0) !== version - 1) return false;
      stored.delete(workspaceId);
      stored.set(workspaceId, { version, text: JSON.stringify(document) });
      if (wakeAtMs === undefined) wakeTimes.delete(workspaceId);
      else wakeTimes.set(workspaceId, wakeAtMs);
      const [oldest] = stored.keys();
      if (oldest !== undefined && stored.size > workspacesMax) remove(oldest);
      return true;
    },
    async remove(workspaceId) {
      remove(workspaceId);
    },
    async wakes() {
      return [...wakeTimes].map(([workspaceId, atMs]) => ({ workspaceId, atMs }));
    },
  };
}
