import { createShares } from "../../runtime/shares";

/** Maximum numbers of calls in progress on one core: in total, for one workspace, and for one token. */
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
  /** Undefined if the call is not for an existing workspace. */
  readonly workspaceId: string | undefined;
  /** Name of the caller's token. */
  readonly by: string;
}

export type CallsInProgress = ReturnType<typeof createCallsInProgress>;

/**
 * Limits the calls that make core contact an address that a caller chose. A call keeps its place until its work has
 * ended, even if the client cancels the call.
 *
 * @param what a plural noun for the work, which the refusal contains, e.g. "test events"
 */
export function createCallsInProgress(what: string, { inAll, ofWorkspace, ofToken }: CallShares) {
  const { max, acquire } = createShares({ workspace: ofWorkspace, token: ofToken, all: inAll });
  return {
    /** Calls `task`, unless one of the maximums has been reached. Resolves or rejects as `task` does. */
    async run<T>({ workspaceId, by }: ShareHolder, task: () => Promise<T>): Promise<T | ShareFull> {
      const release = acquire(
        workspaceId === undefined ? { token: by } : { workspace: workspaceId, token: by },
      );
      if (typeof release === "string") {
        const whose = { workspace: "the workspace", token: `the token ${by}`, all: "this core" }[release];
        const then =
          release === "all" ? "use another core, or retry later" : "retry when one of them has ended";
        const message = `${whose} already has ${max[release]} ${what} in progress, which is the limit: ${then}`;
        return { refused: "too-many", message };
      }
      try {
        return await task();
      } finally {
        release();
      }
    },
  };
}
