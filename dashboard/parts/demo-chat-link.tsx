import { useSession } from "../session";

/** Name of the demo chat's window, so that the link shows the window that opened the dashboard. */
const CHAT_WINDOW = "chat-bridge-chat";

/** A link to an event's exchange in the demo's chat; nothing for a workspace of another bridge. */
export function DemoChatLink({
  workspaceId,
  eventId,
}: {
  readonly workspaceId: string;
  readonly eventId: string;
}) {
  const demo = useSession()?.demo;
  if (demo?.workspaceId !== workspaceId) return null;
  return (
    <p>
      <a href={`${demo.chatUrl}/#wire=${eventId}`} target={CHAT_WINDOW}>
        Show the event on the wire of the demo chat
      </a>
    </p>
  );
}
