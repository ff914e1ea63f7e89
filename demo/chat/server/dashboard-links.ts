import type { Logger } from "pino";
import type { ChatConfig } from "../config";

const ANSWER_WITHIN_MS = 5_000;
const WINDOW_MS = 60_000;
/**
 * Maximum number of sign-in links per minute, for all members together and for each member. The dashboard permits 240
 * sign-ins per minute and address. Browsers on this machine have the same address as the chat, so the chat must leave
 * enough sign-ins for them.
 */
const LINKS_MAX = { all: 60, member: 20 } as const;

export type DashboardLinks = ReturnType<typeof createDashboardLinks>;

interface LinksConfig extends Pick<ChatConfig, "workspaceId"> {
  readonly dashboard: NonNullable<ChatConfig["dashboard"]>;
}

/**
 * Returns links to the workspace's pages in the dashboard. With a token that is limited to the workspace, a link signs a
 * person in, unless the person is already signed in. Anyone who can open the chat gets such links, so the chat must not
 * use a token with more rights.
 */
export function createDashboardLinks({ dashboard, workspaceId }: LinksConfig, log: Logger, now = Date.now) {
  const { url, token } = dashboard;
  const page = `/workspaces/${encodeURIComponent(workspaceId)}`;
  let counts = { until: 0, all: 0, members: new Map<string, number>() };

  function isAllowed(memberId: string): boolean {
    if (now() >= counts.until) counts = { until: now() + WINDOW_MS, all: 0, members: new Map() };
    const count = (counts.members.get(memberId) ?? 0) + 1;
    if (counts.all >= LINKS_MAX.all || count > LINKS_MAX.member) return false;
    counts.all++;
    counts.members.set(memberId, count);
    return true;
  }

  /**
   * Resolves to a path that signs a person in. Rejects when the dashboard does not answer, or the token is not limited
   * to the workspace.
   */
  async function signInPath(next: string): Promise<string> {
    const answer = await fetch(`${url}/api/sign-in-links`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "x-dashboard": "1",
        "content-type": "application/json",
      },
      body: JSON.stringify({ next, keepSession: true }),
      redirect: "error",
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    const { path, workspaces } = (await answer.json()) as { path?: string; workspaces?: readonly string[] };
    if (answer.status !== 201 || path === undefined)
      throw new Error(`the dashboard answered ${answer.status}`);
    if (workspaces?.length !== 1 || workspaces[0] !== workspaceId) {
      throw new Error("DASHBOARD_TOKEN must be limited to the workspace WORKSPACE_ID, and to no other");
    }
    return path;
  }

  return {
    /** URL of the workspace's page, which signs nobody in. */
    page: url + page,
    /** Resolves to the URL of the workspace's page, or of the page of one of its events. */
    async linkFor(memberId: string, eventId: string | null): Promise<string> {
      const next = eventId === null ? page : `${page}/events/${eventId}`;
      if (token === undefined || !isAllowed(memberId)) return url + next;
      try {
        return url + (await signInPath(next));
      } catch (error) {
        log.warn({ problem: (error as Error).message }, "cannot make a sign-in link for the dashboard");
        return url + next;
      }
    },
  };
}
