import type { Logger } from "chat-bridge-runner";
import type { JoinedRoom } from "../client/events";

/** Maximum characters of a moderator's reason in the log. */
const REASON_MAX = 200;

/** Logs who removed the bridge from a room. The bridge's own departures are logged with their reason elsewhere. */
export function logRemoval(log: Logger, own: string, roomId: string, { timeline, state }: JoinedRoom): void {
  const events = [...(state?.events ?? []), ...(timeline?.events ?? [])];
  const last = events.findLast(({ type, state_key: member }) => type === "m.room.member" && member === own);
  if (last === undefined || last.sender === own) return;
  const { membership, reason } = last.content;
  // Nobody plays in a room that the bridge was only invited to.
  if (last.unsigned?.prev_content?.["membership"] === "invite") return;
  const why = typeof reason === "string" && reason !== "" ? { reason: reason.slice(0, REASON_MAX) } : {};
  const what =
    membership === "ban"
      ? "banned from a room"
      : "removed from a room: to play there, invite the bridge again";
  log.warn({ roomId, by: last.sender, ...why }, what);
}
