/** Maximum numbers of calls in progress on one core: in all, for one workspace, and with one token. */
export interface CallShares {
  readonly inAll: number;
  readonly ofWorkspace: number;
  readonly ofToken: number;
}

/** A share is full. `message` is shown to the caller. */
export interface ShareFull {
  readonly refused: "too-many";
  readonly message: string;
}

export interface ShareHolder {
  /** Undefined if the call is for no existing workspace. */
  readonly workspaceId: string | undefined;
  /** Name of the caller's token. */
  readonly by: string;
}

export type CallsInProgress = ReturnType<typeof createCallsInProgress>;

/**
 * Limits the calls that make core contact an address that a caller chose. A call keeps its place until its work has
 * ended, also when the client has cancelled the call.
 *
 * @param what the plural of the work, for the refusal, e.g. "test events"
 */
export function createCallsInProgress(what: string, { inAll, ofWorkspace, ofToken }: CallShares) {
  const workspaces = new Map<string, number>();
  const tokens = new Map<string, number>();
  let count = 0;

  function findFull({ workspaceId, by }: ShareHolder): ShareFull | undefined {
    const refuse = (whose: string, max: number, then: string): ShareFull => ({
      refused: "too-many",
      message: `${whose} already has ${max} ${what} in progress, which is the limit: ${then}`,
    });
    const wait = "retry when one of them has ended";
    if (workspaceId !== undefined && (workspaces.get(workspaceId) ?? 0) >= ofWorkspace)
      return refuse("the workspace", ofWorkspace, wait);
    if ((tokens.get(by) ?? 0) >= ofToken) return refuse(`the token ${by}`, ofToken, wait);
    return count >= inAll ? refuse("this core", inAll, "use another core, or retry later") : undefined;
  }

  function add({ workspaceId, by }: ShareHolder, change: 1 | -1): void {
    count += change;
    addTo(tokens, by, change);
    if (workspaceId !== undefined) addTo(workspaces, workspaceId, change);
  }

  return {
    /** Calls `task`, unless a share is full. Resolves or rejects as `task` does. */
    async run<T>(holder: ShareHolder, task: () => Promise<T>): Promise<T | ShareFull> {
      const full = findFull(holder);
      if (full !== undefined) return full;
      add(holder, 1);
      try {
        return await task();
      } finally {
        add(holder, -1);
      }
    },
  };
}

function addTo(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
