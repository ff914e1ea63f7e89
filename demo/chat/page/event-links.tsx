import type { ChatClient } from "./chat-client";
import { Icon } from "./marks";
import { DASHBOARD_WINDOW, openDashboard } from "./open-dashboard";

/** Maximum number of links in an entry. */
const LINKS_MAX = 20;

export interface EventLinksProps {
  readonly ids: readonly string[];
  readonly client: ChatClient;
  /** URL of the workspace's page in the dashboard. */
  readonly dashboard: string;
}

/** Links to the events' pages in the dashboard. */
export function EventLinks({ ids, client, dashboard }: EventLinksProps) {
  if (ids.length === 0) return null;
  const more = ids.length - LINKS_MAX;
  return (
    <ul class="event-links" aria-label="Events">
      {ids.slice(0, LINKS_MAX).map((id) => (
        <li key={id}>
          <a
            href={`${dashboard}/events/${id}`}
            target={DASHBOARD_WINDOW}
            onClick={(event) => {
              event.preventDefault();
              void openDashboard(client, dashboard, id);
            }}
          >
            <Icon name="link" /> <code>{shortId(id)}</code> in the dashboard
          </a>
        </li>
      ))}
      {more > 0 && <li class="hint">and {more} more</li>}
    </ul>
  );
}

/** Returns the end of an event's id, which differs even between events with the same time. */
function shortId(id: string): string {
  return `evt_…${id.slice(-6)}`;
}
