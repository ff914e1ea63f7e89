import { PROMPTS_SEEN, readChoice, readCommand } from "chat-bridge-runner";
import { choicesOf, keycapNumber } from "../chat/choices";
import { KEY_WITHHELD, relationOf, type MatrixEvent } from "../client/events";
import { editHint, NOT_IN_DIRECT_ROOMS, numberHint, reactionHint, typedNumbers } from "./hints";
import type { MemberAct, RoomView, ShownEvent, Typing } from "./member-act";

export type { MemberAct, RoomView, ShownEvent, Typing };

/** Age above which typed commands, choices and answers in rooms are ignored, ms: after an outage, they are stale. */
export const TYPED_MAX_AGE_MS = 5 * 60_000;

const CANNOT_READ =
  "I cannot read what you type here, because your app sends its keys only to verified devices. " +
  "Answer with a reaction, or allow other devices in the settings of your app.";

/** Returns what a member did; undefined if the event is not for the service. Never throws. */
export function readEvent(event: MatrixEvent, room: RoomView, typing: Typing): MemberAct | undefined {
  if (room.directMember !== undefined && event.sender !== room.directMember) return undefined;
  if (event.type === "m.reaction") return readReaction(event, room, typing);
  if (event.type === KEY_WITHHELD) return { type: "hint", text: CANNOT_READ, topic: "keys" };
  if (event.type !== "m.room.message" || event.content["msgtype"] !== "m.text") return undefined;
  const relation = relationOf(event);
  const { body } = event.content;
  // An edit of a member's message is not a new message.
  if (relation.type === "m.replace")
    return isStale(event, typing.nowMs) ? undefined : editHint(event, room, typing);
  if (typeof body !== "string") return undefined;
  const { threadRoot = "" } = relation;
  const text = (relation.repliedTo === undefined ? body : withoutFallback(body)).trim();
  if (text === "") return undefined;
  // A message in a thread under one of the bridge's messages answers that message.
  const repliedTo = relation.repliedTo ?? room.newestOf(threadRoot)?.eventId;
  return readText({ text, repliedTo, isStale: isStale(event, typing.nowMs) }, room, typing);
}

/** Whether a typed event is too old to act on. */
export function isStale({ origin_server_ts: atMs = 0 }: MatrixEvent, nowMs: number): boolean {
  return nowMs - atMs > TYPED_MAX_AGE_MS;
}

function readReaction(event: MatrixEvent, room: RoomView, typing: Typing): MemberAct | undefined {
  const { type, target = "", key } = relationOf(event);
  const shown = type === "m.annotation" ? room.shown(target) : undefined;
  if (shown === undefined || key === undefined) return undefined;
  const number = keycapNumber(key);
  const choice = choicesOf(shown.message).find((each) => each.number === number);
  if (choice === undefined) return isStale(event, typing.nowMs) ? undefined : reactionHint(shown, typing);
  return { type: "action", target: shown.eventId, action: choice.action, byReaction: true };
}

interface Typed {
  readonly text: string;
  readonly repliedTo: string | undefined;
  readonly isStale: boolean;
}

function readText(typed: Typed, room: RoomView, typing: Typing): MemberAct | undefined {
  const { text, repliedTo } = typed;
  const isDirect = room.directMember !== undefined;
  const replied = repliedTo === undefined ? undefined : room.newestOf(repliedTo);
  if (typed.isStale && !isDirect && replied === undefined) return undefined;
  const command = readCommand(text, typing);
  if (command !== undefined) {
    if (typed.isStale) return undefined;
    if (isDirect) return { type: "hint", text: NOT_IN_DIRECT_ROOMS };
    return { type: "command", text: command };
  }
  const press = readTypedChoice(typed, replied, room, typing);
  if (press !== undefined) return press;
  if (replied?.message.awaitsReply === true) return { type: "message", text, replyTo: replied.eventId };
  if (isDirect) return { type: "message", text };
  // A reply to another member is part of a conversation, and not an answer to a prompt.
  if (repliedTo !== undefined && replied === undefined) return undefined;
  const isAwaited = room
    .newest()
    .slice(0, PROMPTS_SEEN)
    .some(({ message }) => message.awaitsReply);
  return isAwaited ? { type: "message", text } : numberHint(text, room, typing);
}

/**
 * Returns whether a member's text in a direct room answers nothing, because no message of the bridge in that room waits
 * for a text.
 */
export function isUnasked(act: MemberAct, room: RoomView): boolean {
  return (
    room.directMember !== undefined &&
    act.type === "message" &&
    act.replyTo === undefined &&
    !room.newest().some(({ message }) => message.awaitsReply)
  );
}

function readTypedChoice(
  { text }: Typed,
  replied: ShownEvent | undefined,
  room: RoomView,
  typing: Typing,
): MemberAct | undefined {
  const withPrefix = readChoice(text, typing);
  const number = withPrefix ?? readChoice(text, typing, room.directMember !== undefined);
  if (number === undefined) return undefined;
  const hasChoices = ({ message }: ShownEvent) => choicesOf(message).length > 0;
  const [newest] = room.newest();
  // A number without prefix can be the answer to a prompt, so it presses only a button of the newest message.
  const candidates =
    replied !== undefined && hasChoices(replied)
      ? [replied]
      : withPrefix === undefined
        ? [newest].filter((each) => each !== undefined)
        : room.newest();
  const target = candidates.find(hasChoices);
  if (target === undefined) return undefined;
  const choices = choicesOf(target.message);
  const choice = choices.find((each) => each.number === number);
  if (choice !== undefined) {
    return { type: "action", target: target.eventId, action: choice.action, byReaction: false };
  }
  if (withPrefix === undefined) return undefined;
  return {
    type: "hint",
    text: `There is no choice ${number}: type ${typedNumbers(choices.length, typing)}.`,
  };
}

/** Returns the text of a reply without the quoted lines that older clients put before it. */
export function withoutFallback(body: string): string {
  if (!body.startsWith("> ")) return body;
  const lines = body.split("\n");
  const first = lines.findIndex((line) => !line.startsWith(">"));
  return first === -1 ? "" : lines.slice(first).join("\n").replace(/^\n/, "");
}
