import type { ShownMessage } from "../../kit/game/testing/memory-core";

/** A message, its workspace, and the position at which it was shown. */
export interface PlacedMessage {
  readonly workspace: string;
  readonly message: ShownMessage;
  /** The position at which the newest version of the message was shown. */
  readonly position: number;
  readonly isExpired: boolean;
}

/** Maximum number of messages in an error. */
const LISTED_MAX = 10;

/** Returns a message as text, e.g. `room: **Ada** throws a 4   [Again]`. The text can have several lines. */
export function messageLine({ place, to, content, awaitsReply, updates }: ShownMessage): string {
  const notes = [...(to === undefined ? [] : [`only ${to}`]), ...(updates > 0 ? ["edited"] : [])];
  const where = notes.length === 0 ? place : `${place} (${notes.join(", ")})`;
  const rows = content.buttons.map((row) => row.map(({ label }) => `[${label}]`).join(" "));
  const image = content.image === null ? [] : [`<image ${content.image}>`];
  const parts = [content.text.replaceAll("\n", "\n    "), ...image, ...rows];
  return `${where}: ${parts.filter((part) => part !== "").join("   ")}${awaitsReply ? "   (awaits a reply)" : ""}`;
}

/** Returns the newest messages as text for an error message, oldest first. */
export function listMessages(messages: readonly ShownMessage[]): string {
  if (messages.length === 0) return "the chat shows no messages";
  const listed = messages.slice(-LISTED_MAX);
  const which = listed.length < messages.length ? `the newest of ${messages.length} messages` : "messages";
  return `the chat shows these ${which}:\n${listed.map((message) => `  ${messageLine(message)}`).join("\n")}`;
}

/** Returns the error message for a button that is on none of the messages that the member sees. */
export function noButton(
  member: string,
  label: string,
  messages: readonly ShownMessage[],
  messageId: string | undefined,
): string {
  const where = messageId === undefined ? "in the channel" : `on the message ${messageId}`;
  const labels = messages.flatMap(({ content }) => content.buttons.flat().map((each) => `[${each.label}]`));
  const choice = labels.length === 0 ? "no buttons" : `these buttons: ${[...new Set(labels)].join(" ")}`;
  return `${member} sees no button "${label}" ${where}, but ${choice}; wait until the button is shown, or name one that is`;
}

/** A message as JSON. */
export function messageJson({ workspace, message, position, isExpired }: PlacedMessage): object {
  const { id, place, to, content, awaitsReply, updates, expiresAtMs } = message;
  const { kind, text, buttons, image, data } = content;
  return {
    workspace,
    id,
    place,
    to: to ?? null,
    kind,
    text,
    buttons,
    image,
    data,
    awaitsReply,
    updates,
    expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
    isExpired,
    position,
  };
}
