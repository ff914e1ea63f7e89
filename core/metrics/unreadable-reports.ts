import type { Logger } from "pino";
import type { UnreadableSecrets } from "../ports/meters";

/** Milliseconds in which a workspace is logged at most once. */
const SAME_EVERY_MS = 60_000;
/** Maximum number of workspaces whose last line is remembered. */
const REMEMBERED_MAX = 1_000;

/** Logs the workspaces whose secrets core cannot decrypt, and keeps their number for the metrics. */
export function unreadableReports(counts: { unreadableSecrets: number | undefined }, log: Logger) {
  const loggedAt = new Map<string, number>();

  return {
    /** Logs a workspace that cannot be served now, at most once per minute. */
    onUnreadable(workspaceId: string, missingKey: string): void {
      const at = performance.now();
      if (at - (loggedAt.get(workspaceId) ?? -Infinity) < SAME_EVERY_MS) return;
      // The entries are in the order of their lines, so the first entry is the oldest.
      const [oldest] = loggedAt.keys();
      if (loggedAt.size >= REMEMBERED_MAX && oldest !== undefined) loggedAt.delete(oldest);
      loggedAt.delete(workspaceId);
      loggedAt.set(workspaceId, at);
      log.error(
        { workspaceId, missingKey },
        "the secret of a workspace is unreadable: add the missing key to SECRETS_KEY, or connect the workspace again",
      );
    },
    /** Logs each new number of workspaces, also when it becomes 0. */
    onCounted({ count, workspaceIds, keys }: UnreadableSecrets): void {
      const before = counts.unreadableSecrets ?? 0;
      counts.unreadableSecrets = count;
      if (count === before) return;
      if (count === 0) return log.info("the secrets of all workspaces are readable again");
      log.warn(
        { count, workspaceIds, missingKeys: keys },
        "the secrets of some workspaces are unreadable: add the missing keys to SECRETS_KEY, or connect the workspaces again; chat-bridge workspace keys lists them",
      );
    },
  };
}
