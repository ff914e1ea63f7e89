import type { SEALED_LIMITS } from "../domain/bounds";

export type SealedKind = keyof typeof SEALED_LIMITS;

/** An entry that an edge has encrypted with a key that core does not know. */
export interface SealedEntry {
  readonly sealed: Buffer;
  /** Time at which the entry expires even if it is used. */
  readonly expiresAtMs: number;
}

export interface NewSealedEntry {
  readonly id: string;
  readonly sealed: Uint8Array;
  readonly tokenName: string;
  /** Whether the token is limited to some workspaces. */
  readonly isLimited: boolean;
}

/** The sessions and sign-in links of the dashboard, which all edges share. `SEALED_LIMITS` has their bounds. */
export interface SealedEntries {
  /**
   * Stores an entry. If a maximum has been reached, removes the least recently used entry of the same token, and
   * returns that entry's id. Returns "full" when the entries of other tokens leave no room.
   */
  put(
    kind: SealedKind,
    entry: NewSealedEntry,
  ): Promise<{ readonly expiresAtMs: number; readonly removedId: string | undefined } | "full">;
  /** Returns an entry; undefined when it has expired or was removed. */
  read(kind: SealedKind, id: string, isUse: boolean): Promise<SealedEntry | undefined>;
  /** Removes an entry, and returns it. Only one of several concurrent calls returns the entry. */
  take(kind: SealedKind, id: string): Promise<SealedEntry | undefined>;
}
