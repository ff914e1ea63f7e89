import { readInboundEvent } from "../../edge/public/read-inbound-event";
import { readJson } from "../../edge/public/read-json";

/**
 * Returns how the edge judges a body: "valid", or the name of the invalid field; undefined if the whole body is
 * invalid.
 */
export function outcomeOf(body: unknown): string | undefined {
  const read = readInboundEvent(readJson(Buffer.from(JSON.stringify(body)))?.value);
  return read.$case === "event" ? "valid" : read.value.field;
}

/**
 * A second implementation of the contract's field rules, in plain steps. Returns "valid",
 * or the first invalid field; undefined when the whole body is invalid.
 */
export function faultByTable(body: unknown): string | undefined {
  if (!isPlainObject(body)) return undefined;
  const type = own(body, "type");
  if (type !== "command" && type !== "action" && type !== "message") return "type";
  if (Object.hasOwn(body, "id") && !isText(body["id"], 1, 128)) return "id";

  const channelFault = faultOfChannel(type, own(body, "channel"), own(body, "user"));
  if (channelFault !== undefined) return channelFault;

  const user = own(body, "user");
  if (!isPlainObject(user)) return "user";
  if (!isText(own(user, "id"), 1, 128)) return "user.id";
  if (!isNameOrNothing(user)) return "user.name";
  for (const name of Object.keys(user)) if (name !== "id" && name !== "name") return `user.${name}`;

  if (type === "command" && !isText(own(body, "text"), 0, 2000)) return "text";
  if (type === "message" && !isText(own(body, "text"), 1, 4000)) return "text";
  if (type === "action" && !isText(own(body, "messageId"), 1, 128)) return "messageId";
  if (type === "action" && !isText(own(body, "action"), 1, 512)) return "action";
  if (type === "message" && Object.hasOwn(body, "replyTo")) {
    if (body["replyTo"] !== null && !isText(body["replyTo"], 0, 128)) return "replyTo";
  }
  const known = {
    command: ["type", "id", "channel", "user", "text"],
    action: ["type", "id", "channel", "user", "messageId", "action"],
    message: ["type", "id", "channel", "user", "text", "replyTo"],
  }[type];
  return Object.keys(body).find((name) => !known.includes(name)) ?? "valid";
}

function faultOfChannel(type: string, channel: unknown, user: unknown): string | undefined {
  const id = isPlainObject(channel) ? own(channel, "id") : channel;
  if (typeof id === "string" && id.startsWith("dm:")) {
    if (type === "command" || !isText(id, 4, 131)) return "channel";
    const userId = isPlainObject(user) ? own(user, "id") : undefined;
    if (typeof userId === "string" && id !== `dm:${userId}`) return "channel";
  } else if (!isText(id, 1, 128)) {
    return isPlainObject(channel) ? "channel.id" : "channel";
  }
  if (!isPlainObject(channel)) return undefined;
  if (!isNameOrNothing(channel)) return "channel.name";
  const unknown = Object.keys(channel).find((name) => name !== "id" && name !== "name");
  return unknown === undefined ? undefined : `channel.${unknown}`;
}

function isNameOrNothing(object: Record<string, unknown>): boolean {
  return !Object.hasOwn(object, "name") || object["name"] === null || isText(object["name"], 0, 128);
}

function isText(value: unknown, min: number, max: number): boolean {
  if (typeof value !== "string") return false;
  const points = Array.from(value, (character) => character.codePointAt(0) ?? 0);
  const whole = points.every((point) => point < 0xd800 || point > 0xdfff);
  return whole && points.length >= min && points.length <= max;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function own(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
