import { CannotShow, RetryLater } from "chat-bridge-kit";
import type { Element } from "ltx";

/** The reason in a stanza of the type `error`. */
export interface Refusal {
  /** The condition of RFC 6120, e.g. "forbidden". */
  readonly condition: string;
  /** `cancel`, `modify`, `auth` or `wait`. */
  readonly type: string;
}

const STANZAS = "urn:ietf:params:xml:ns:xmpp-stanzas";
const RETRY_MS = 2_000;
/** Error conditions that are temporary, even if the server sends the error type `cancel`. */
const TEMPORARY = new Set([
  "resource-constraint",
  "remote-server-timeout",
  "remote-server-not-found",
  "internal-server-error",
  "policy-violation",
]);

export function refusalOf(stanza: Element): Refusal {
  const error = stanza.getChild("error");
  const named = error?.getChildElements().find((child) => child.getNS() === STANZAS && child.name !== "text");
  return { condition: named?.name ?? "undefined-condition", type: error?.attrs["type"] ?? "cancel" };
}

export function isTemporary({ condition, type }: Refusal): boolean {
  return type === "wait" || TEMPORARY.has(condition);
}

/** Returns the error that determines whether and when the kit retries a message. */
export function toChatError(refusal: Refusal): Error {
  const { condition } = refusal;
  return isTemporary(refusal)
    ? new RetryLater(RETRY_MS, `the server refuses the message now: ${condition}`)
    : new CannotShow(`the server refuses the message: ${condition}`);
}

/** Advice for an administrator about a room that the bridge cannot join, keyed by the condition of the refusal. */
const ADVICE: Readonly<Record<string, string>> = {
  "not-authorized": "the password of the room is missing or wrong: add it to XMPP_ROOMS",
  forbidden: "the bridge is banned from the room: remove the ban",
  "registration-required": "the room is for members only: make the bridge a member",
  "item-not-found": "the room does not exist: create it with your client",
  "not-allowed": "the room does not exist, and the bridge may not create rooms: create it with your client",
  "not-acceptable": "the room reserves nicks: register the bridge's nick",
  "service-unavailable": "the room is full, or its server has no rooms",
  "remote-server-not-found": "the server of the room is unreachable",
  conflict: "the nick is in use: set XMPP_NICK",
};

export function whyNotJoined({ condition }: Refusal): string {
  return ADVICE[condition] ?? `the room refuses the bridge: ${condition}`;
}
