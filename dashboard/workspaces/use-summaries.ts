import { useEffect, useState } from "preact/hooks";
import {
  HEALTH_IDS_MAX,
  type StateCounts,
  type SummariesShape,
  type SummaryShape,
  type WorkspaceShape,
} from "../../proto/json/shapes";
import { api, ApiError, READ_AGAIN_MS } from "../api";
import { setFailingCount } from "../failing-count";

export interface Summaries {
  /** The shown workspaces by id, as last read; undefined before the first read. A deleted workspace is missing. */
  readonly views: SummariesShape["workspaces"] | undefined;
  readonly counts: StateCounts | null;
  /** The error of the last read, until a read succeeds. */
  readonly error: ApiError | undefined;
}

const LOOK_AGAIN_MS = 5_000;
const NOTHING: Summaries = { views: undefined, counts: null, error: undefined };

/**
 * Reads the shown workspaces with their summaries every 5 s while the page is visible. The first read is immediate,
 * unless `known` contains all summaries. The rows keep their places, so that none moves under the pointer.
 */
export function useSummaries(
  workspaces: readonly WorkspaceShape[],
  known: Readonly<Record<string, SummaryShape>>,
): Summaries {
  const [summaries, setSummaries] = useState(NOTHING);
  const ids = workspaces.map(({ id }) => id);
  useEffect(() => {
    const over = new AbortController();
    let soon: ReturnType<typeof setTimeout> | undefined;

    async function read(): Promise<Summaries> {
      const views: Record<string, SummariesShape["workspaces"][string]> = {};
      let counts: StateCounts | null = null;
      for (let i = 0; i < ids.length; i += HEALTH_IDS_MAX) {
        const answer = await api.summaries(ids.slice(i, i + HEALTH_IDS_MAX), over.signal);
        Object.assign(views, answer.workspaces);
        ({ counts } = answer);
      }
      return { views, counts, error: undefined };
    }

    async function look(): Promise<void> {
      clearTimeout(soon);
      if (document.hidden || ids.length === 0) return;
      try {
        const fresh = await read();
        setSummaries(fresh);
        setFailingCount(fresh.counts);
        soon = setTimeout(() => void look(), LOOK_AGAIN_MS);
      } catch (thrown) {
        if (over.signal.aborted) return;
        const error = thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown));
        setSummaries((before) => ({ ...before, error }));
        soon = setTimeout(() => void look(), READ_AGAIN_MS);
      }
    }
    const lookAgain = (): void => void look();

    setSummaries(NOTHING);
    if (ids.every((id) => known[id] !== undefined)) soon = setTimeout(lookAgain, LOOK_AGAIN_MS);
    else void look();
    document.addEventListener("visibilitychange", lookAgain);
    return () => {
      over.abort();
      clearTimeout(soon);
      document.removeEventListener("visibilitychange", lookAgain);
    };
  }, [ids.join(), known]);
  return summaries;
}
