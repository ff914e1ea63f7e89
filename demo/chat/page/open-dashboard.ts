import type { ChatClient } from "./chat-client";

/** Name of the window in which the dashboard opens. With a fixed name, each click uses the same window. */
export const DASHBOARD_WINDOW = "chat-bridge-dashboard";
/** Name of the chat's window. An event's page in the dashboard links to this window. */
const CHAT_WINDOW = "chat-bridge-chat";

/**
 * Shows a page of the dashboard in its own window: the workspace's page, or the page of one event. Call this function
 * in the handler of a click, because browsers block windows that open later.
 *
 * @param page URL of the workspace's page, used if the chat's server returns no link
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
