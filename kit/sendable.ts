import {
  COMMAND_TEXT_MAX_CHARACTERS,
  ID_MAX_CHARACTERS,
  MESSAGE_TEXT_MAX_CHARACTERS,
} from "../contract/numbers";
import type { Channel, InboundEvent, User } from "./inbound-event";

/**
 * Returns an event whose names and texts the service accepts: well-formed Unicode, cut to the contract's limits.
 * Names can be cut safely, because they are only shown. For a typed text, the beginning is better than no text. Ids and
 * actions are unchanged.
 */
export function sendable(event: InboundEvent): InboundEvent {
  const named = { user: withName(event.user), channel: channelOf(event.channel) };
  switch (event.type) {
    case "command":
      return { ...event, ...named, text: cut(event.text, COMMAND_TEXT_MAX_CHARACTERS) };
    case "message":
      return { ...event, ...named, text: cut(event.text, MESSAGE_TEXT_MAX_CHARACTERS) };
    case "action":
      return { ...event, ...named };
  }
}

function channelOf(channel: Channel): Channel {
  return typeof channel === "string" ? channel : withName(channel);
}

function withName<T extends User | Exclude<Channel, string>>(named: T): T {
  // A JavaScript program can pass a value of another type. In that case, the service's answer names the invalid field.
  return named?.name == null ? named : { ...named, name: cut(named.name, ID_MAX_CHARACTERS) };
}

/** Returns the first `max` code points of a string. An unpaired surrogate becomes U+FFFD. */
function cut(text: string, max: number): string {
  if (typeof text !== "string") return text;
  // `max` code points have at most twice as many code units.
  const short =
    text.length <= max
      ? text
      : Array.from(text.slice(0, 2 * max))
          .slice(0, max)
          .join("");
  return short.toWellFormed();
}
