import { createElement as xml, type Element } from "ltx";

/** The namespaces of the stanzas that the bridge reads and writes. */
export const NS = {
  muc: "http://jabber.org/protocol/muc",
  mucUser: "http://jabber.org/protocol/muc#user",
  mucOwner: "http://jabber.org/protocol/muc#owner",
  form: "jabber:x:data",
  conference: "jabber:x:conference",
  correct: "urn:xmpp:message-correct:0",
  occupant: "urn:xmpp:occupant-id:0",
  sid: "urn:xmpp:sid:0",
  delay: "urn:xmpp:delay",
  ping: "urn:xmpp:ping",
  fallback: "urn:xmpp:fallback:0",
  reply: "urn:xmpp:reply:0",
  encryption: "urn:xmpp:eme:0",
} as const;

/** Characters that XML does not allow. A server closes a stream that contains such a character. */
const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** Returns text without the characters that XML does not allow. */
export function xmlText(text: string): string {
  return text.toWellFormed().replaceAll(NOT_XML, "");
}

/** A text to send. */
export interface Outgoing {
  readonly id: string;
  readonly to: string;
  readonly text: string;
  /** The id of the message that this message replaces: see XEP-0308. */
  readonly replaces?: string | undefined;
}

/** Returns the stanza of a message to everybody in a room. */
export function roomMessage({ id, to, text, replaces }: Outgoing): Element {
  return xml("message", { type: "groupchat", id, to }, ...content(id, text, replaces));
}

/** Returns the stanza of a message to one member: to an account, or to an occupant of a room (`isInRoom`). */
export function privateMessage({ id, to, text, replaces }: Outgoing, isInRoom: boolean): Element {
  const mark = isInRoom ? xml("x", { xmlns: NS.mucUser }) : undefined;
  return xml("message", { type: "chat", id, to }, ...content(id, text, replaces), mark);
}

function content(id: string, text: string, replaces: string | undefined): readonly (Element | undefined)[] {
  return [
    xml("body", {}, xmlText(text)),
    xml("origin-id", { xmlns: NS.sid, id }),
    replaces === undefined ? undefined : xml("replace", { xmlns: NS.correct, id: replaces }),
  ];
}

/** Returns the presence that joins a room. `historySeconds` limits the messages that the room then repeats. */
export function joinPresence(to: string, password: string | undefined, historySeconds: number): Element {
  const history = xml("history", { seconds: String(historySeconds) });
  const secret = password === undefined ? undefined : xml("password", {}, password);
  return xml("presence", { to }, xml("x", { xmlns: NS.muc }, history, secret));
}

export function leavePresence(to: string): Element {
  return xml("presence", { to, type: "unavailable" });
}

export function pingRequest(to: string): Element {
  return xml("iq", { type: "get", to }, xml("ping", { xmlns: NS.ping }));
}

/** Returns the request that removes a room which the bridge has just created by joining. */
export function cancelRoom(to: string): Element {
  const form = xml("x", { xmlns: NS.form, type: "cancel" });
  return xml("iq", { type: "set", to }, xml("query", { xmlns: NS.mucOwner }, form));
}

/** Returns the status codes of a presence in a room: see XEP-0045, "Status Codes". */
export function statusCodes(presence: Element): ReadonlySet<string> {
  const statuses = presence.getChild("x", NS.mucUser)?.getChildren("status") ?? [];
  return new Set(statuses.map(({ attrs }) => attrs["code"] ?? ""));
}

/** Returns the occupant id that the room assigns, and that stays the same when the nick changes: see XEP-0421. */
export function occupantId(stanza: Element): string | undefined {
  return stanza.getChild("occupant-id", NS.occupant)?.attrs["id"];
}

/** Returns the time at which a delayed message was sent, in ms since the epoch, or undefined for other messages. */
export function delayedAtMs(message: Element): number | undefined {
  const delay = message.getChild("delay", NS.delay);
  if (delay === undefined) return undefined;
  const atMs = Date.parse(delay.attrs["stamp"] ?? "");
  return Number.isNaN(atMs) ? 0 : atMs;
}

/** Returns the id that a room gave a message: see XEP-0359. Only the room itself can set an id with its JID. */
export function stanzaId(message: Element, room: string): string | undefined {
  return message.getChildren("stanza-id", NS.sid).find(({ attrs }) => attrs["by"] === room)?.attrs["id"];
}

/** Returns the text of a message, without the quoted lines that a client puts before a reply: see XEP-0428. */
export function bodyOf(message: Element): string | undefined {
  const body = message.getChildText("body");
  if (body === null) return undefined;
  const reply = message.getChildren("fallback", NS.fallback).find(({ attrs }) => attrs["for"] === NS.reply);
  const range = reply?.getChild("body");
  if (range === undefined) return body;
  const [start, end] = [Number(range.attrs["start"]), Number(range.attrs["end"])];
  const characters = [...body];
  return Number.isInteger(start) && Number.isInteger(end)
    ? [...characters.slice(0, start), ...characters.slice(end)].join("")
    : body;
}

/** Whether the content of a message is encrypted, e.g. with OMEMO. */
export function isEncrypted(message: Element): boolean {
  return (
    message.getChild("encryption", NS.encryption) !== undefined || message.getChild("encrypted") !== undefined
  );
}
