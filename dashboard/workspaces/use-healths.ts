import { useEffect, useState } from "preact/hooks";
import { HEALTH_IDS_MAX, type HealthShape, type WorkspaceShape } from "../../edge/dashboard/shapes";
import { api, READ_AGAIN_MS } from "../api";

export type Healths = Readonly<Record<string, HealthShape>>;

const AT_ONCE = Math.min(25, HEALTH_IDS_MAX);
const LOOK_AGAIN_MS = 30_000;

/** Returns the health of the shown workspaces by id. While the page is visible, the health is read every 30 s. */
export function useHealths(workspaces: readonly WorkspaceShape[]): Healths {
  const [healths, setHealths] = useState<Healths>({});
  const ids = workspaces.filter(({ mode }) => mode !== "none").map(({ id }) => id);
  useEffect(() => {
    const over = new AbortController();
    let soon: ReturnType<typeof setTimeout> | undefined;
    async function look(): Promise<void> {
      let isWhole = true;
      if (!document.hidden) {
        for (let i = 0; i < ids.length && !over.signal.aborted; i += AT_ONCE) {
          // Errors are ignored here: the list itself reports an unavailable server.
          const fresh = await api.health(ids.slice(i, i + AT_ONCE), over.signal).catch(() => {
            isWhole = false;
            return {};
          });
          if (!over.signal.aborted) setHealths((known) => ({ ...known, ...fresh }));
        }
      }
      if (!over.signal.aborted) soon = setTimeout(() => void look(), isWhole ? LOOK_AGAIN_MS : READ_AGAIN_MS);
    }
    void look();
    return () => {
      over.abort();
      clearTimeout(soon);
    };
  }, [ids.join()]);
  return healths;
}
