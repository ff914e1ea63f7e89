/** The keys (from SECRETS_KEY) that encrypt the active secrets of a workspace. */
export interface SecretKeyUse {
  readonly workspaceId: string;
  /** The fingerprints of the keys, without duplicates. Empty for a workspace without secrets. */
  readonly keys: readonly string[];
  /**
   * The fingerprints of the keys that core lacks to decrypt the secrets, without duplicates. Empty if all secrets are
   * readable.
   */
  readonly missingKeys: readonly string[];
}

/** The result of re-encrypting the secrets of one page of workspaces. */
export interface ReEncrypted {
  /** Number of workspaces whose secrets are now encrypted with the newest key. */
  readonly changed: number;
  /** Number of readable workspaces that needed no change. */
  readonly already: number;
  /** Ids of the workspaces with a secret that core cannot decrypt. Such a secret is unchanged. */
  readonly unreadable: readonly string[];
  /** On the first page, the number of workspaces on all pages; otherwise 0. */
  readonly total: number;
  /** The token of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** The keys that encrypt the stored secrets. Both methods work on one page, and return undefined for an invalid token. */
export interface SecretKeys {
  /** The fingerprint of the key that encrypts new secrets. */
  readonly newest: string;
  /** @param token the `next` of the previous page; empty for the first page */
  list(
    token: string,
  ): Promise<{ readonly uses: readonly SecretKeyUse[]; readonly next: string | undefined } | undefined>;
  /**
   * Encrypts the secrets of a page of workspaces with the newest key. The workspaces and their versions do not change.
   *
   * @param token the `next` of the previous page; empty for the first page
   */
  reEncrypt(token: string): Promise<ReEncrypted | undefined>;
}
