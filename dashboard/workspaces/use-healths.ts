import { useEffect, useState } from "preact/hooks";
import { HEALTH_IDS_MAX, type WorkspaceShape, type WorkspaceView } from "../../proto/json/shapes";
import { api, ApiError, READ_AGAIN_MS } from "../api";

export interface Healths {
  /** The current state of the shown workspaces, by id. */
  readonly views: Readonly<Record<string, WorkspaceView>>;
  /** The error of the last read, until a read succeeds. */
  readonly error: ApiError | undefined;
}

const AT_ONCE = Math.min(25, HEALTH_IDS_MAX);
const LOOK_AGAIN_MS = 5_000;

/** Reads the shown workspaces with their health: immediately, and every 5 s while the page is visible. */
export function useHealths(workspaces: readonly WorkspaceShape[]): Healths {
  const [healths, setHealths] = useState<Healths>({ views: {}, error: undefined });
  const ids = workspaces.map(({ id }) => id);
  useEffect(() => {
    const over = new AbortController();
    let soon: ReturnType<typeof setTimeout> | undefined;

    /** Reads all workspaces. Resolves to the error of a failed read. */
    async function read(): Promise<ApiError | undefined> {
      try {
        for (let i = 0; i < ids.length; i += AT_ONCE) {
          const fresh = await api.health(ids.slice(i, i + AT_ONCE), over.signal);
          setHealths(({ views, error }) => ({ views: { ...views, ...fresh }, error }));
        }
        return undefined;
      } catch (error) {
        return error instanceof ApiError ? error : new ApiError(0, String(error));
      }
    }

    async function look(): Promise<void> {
      clearTimeout(soon);
      if (document.hidden) return;
      const error = await read();
      if (over.signal.aborted) return;
      setHealths(({ views }) => ({ views, error }));
      soon = setTimeout(() => void look(), error === undefined ? LOOK_AGAIN_MS : READ_AGAIN_MS);
    }
    const lookAgain = (): void => void look();

    void look();
    document.addEventListener("visibilitychange", lookAgain);
    return () => {
      over.abort();
      clearTimeout(soon);
      document.removeEventListener("visibilitychange", lookAgain);
    };
  }, [ids.join()]);
  return healths;
}
