import {
  choice,
  flag,
  hostPort,
  list,
  optionalFile,
  secret,
  type Setting,
  type ValuesOf,
} from "chat-bridge-runner";
import { bareJid, readJid, ROOM_JID_MAX } from "./jid";

export type XmppSettings = ValuesOf<typeof XMPP_SETTINGS>;

/** A room to join. */
export interface WantedRoom {
  /** Bare JID, e.g. "games@rooms.example.org". */
  readonly jid: string;
  readonly password: string | undefined;
}

/** The settings of the XMPP bridge, in addition to the settings that all bridges share. */
export const XMPP_SETTINGS = {
  XMPP_JID: jid("account of the bridge, e.g. games@example.org"),
  XMPP_PASSWORD: secret("password of the account"),
  XMPP_SERVER: hostPort("address of the server, if DNS does not give the address"),
  XMPP_TLS: choice(
    "encryption: starttls, direct (TLS from the first byte), or off; auto uses what DNS offers, and never off",
    ["auto", "starttls", "direct", "off"],
    "auto",
  ),
  XMPP_CA: optionalFile("certificates in PEM to trust instead of the usual authorities"),
  XMPP_NICK: nick("nick of the bridge in its rooms", "games"),
  XMPP_ROOMS: rooms(
    'rooms to join, each with a space and its password if it has one, e.g. "games@rooms.example.org,quiz@rooms.example.org password"',
    "",
  ),
  XMPP_ALLOW_INVITES: list(
    "accounts, rooms and domains that may invite the bridge to further rooms, or * for everyone",
    "",
  ),
  XMPP_NEW_QUESTIONS: flag("whether each question is a new message, instead of a correction", "on"),
};

/** Reports invalid combinations of settings. */
export function checkXmppSettings(values: XmppSettings, settings: { fault(line: string): void }): void {
  if (values.XMPP_ROOMS.length === 0 && values.XMPP_ALLOW_INVITES.length === 0) {
    settings.fault(
      "XMPP_ROOMS is missing: give the rooms to join, e.g. games@rooms.example.org, or set XMPP_ALLOW_INVITES",
    );
  }
}

function jid(what: string): Setting<string> {
  const parse = (value: string): string => {
    const { local, resource } = readJid(value);
    if (local === "" || resource !== "") throw new Error("must be an account, e.g. games@example.org");
    return bareJid(value);
  };
  return { what, fallback: undefined, read: (settings, name) => settings.parsed(name, what, parse) };
}

function nick(what: string, fallback: string): Setting<string> {
  const parse = (value: string): string => {
    if (value.length > 60 || value.trim() !== value || /\p{Cc}/u.test(value)) {
      throw new Error("must be at most 60 characters");
    }
    return value;
  };
  return { what, fallback, read: (settings, name) => settings.parsed(name, what, parse, fallback) };
}

function rooms(what: string, fallback: string): Setting<readonly WantedRoom[]> {
  return { what, fallback, read: (settings, name) => settings.parsed(name, what, parseRooms, fallback) };
}

/** Reads rooms. The password of a room is the text after the first space. In a password, ",," stands for a comma. */
function parseRooms(value: string): readonly WantedRoom[] {
  // A setting cannot contain U+0000, so this character can stand for the commas of passwords.
  const entries = value
    .replaceAll(",,", "\u0000")
    .split(",")
    .flatMap((entry) => entry.replaceAll("\u0000", ",").trim() || []);
  const rooms: WantedRoom[] = [];
  for (const entry of entries) {
    const [address = "", password] = entry.split(/(?<=^\S+)\s+/);
    const { local, resource } = readJid(address);
    if (local === "" || resource !== "" || address.includes(",") || address.length > ROOM_JID_MAX) {
      throw new Error(notARoom(rooms.at(-1)));
    }
    rooms.push({ jid: bareJid(address), password });
  }
  return rooms;
}

/** Names the room before the invalid entry, because the entry itself can be part of that room's password. */
function notARoom(before: WantedRoom | undefined): string {
  const which = before === undefined ? "the first entry" : `the entry after ${before.jid}`;
  return `must be rooms: ${which} is not an address such as games@rooms.example.org (write a comma in a password as ",,")`;
}
