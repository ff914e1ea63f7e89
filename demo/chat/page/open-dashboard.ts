import type { ChatClient } from "./chat-client";

/** Name of the window in which the dashboard opens, so that each click uses the same window. */
export const DASHBOARD_WINDOW = "chat-bridge-dashboard";
/** Name of this window, to which the dashboard's page of an event links. */
const CHAT_WINDOW = "chat-bridge-chat";

/**
 * Shows a page of the dashboard in its own window: the workspace's page, or the page of one event. Call in the handler of
 * a click, because browsers block windows that open later.
 *
 * @param page URL of the workspace's page, which is shown if the chat's server makes no link
 */
export async function openDashboard(client: ChatClient, page: string, event: string | null): Promise<void> {
  window.name = CHAT_WINDOW;
  const beside = window.open("", DASHBOARD_WINDOW);
  const plain = event === null ? page : `${page}/events/${event}`;
  const url = await client.dashboardLink(event).catch(() => plain);
  if (beside === null) return;
  beside.location.href = url;
  beside.focus();
}
