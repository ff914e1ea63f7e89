import { useSession } from "../session";

/** Name of the demo chat's window. With this name, the link opens in the window from which the dashboard was opened. */
const CHAT_WINDOW = "chat-bridge-chat";

/**
 * A link to the part of the demo's chat in which an event was exchanged. Shows nothing if the workspace is not the
 * demo's.
 */
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
