import { isIP } from "node:net";
import {
  choice,
  flag,
  integer,
  list,
  optional,
  optionalFile,
  optionalSecret,
  text,
  type Setting,
  type ValuesOf,
} from "chat-bridge-runner";
import { readChannels, type WantedChannel } from "./connection/channel-list";

export type IrcSettings = ValuesOf<typeof IRC_SETTINGS>;

const HOST_NAME_FORM = /^[^\s/@:[\]]+$/;
const NICK_FORM = /^[A-Za-z[\]\\`_^{|}][A-Za-z0-9[\]\\`_^{|}-]{0,29}$/;

/** The settings that only the IRC bridge has. */
export const IRC_SETTINGS = {
  IRC_HOST: matching(
    "host name of the IRC server, e.g. irc.libera.chat",
    isHost,
    "must be a host name or an IP address",
  ),
  IRC_PORT: integer("port of the IRC server", { min: 1, max: 65_535 }, 6697),
  IRC_TLS: flag("whether the connection is encrypted", "on"),
  IRC_CA: optionalFile("certificates in PEM to trust instead of the usual authorities"),
  IRC_PASSWORD: optionalSecret("password of the server; few servers have one"),
  IRC_NICK: matching("nick of the bridge", isNick, "must be a nick of at most 30 characters", "games"),
  IRC_USERNAME: matching(
    "user name of the bridge, which members see in the address",
    (value) => /^[^\s@]+$/.test(value),
    "must not contain a space or @",
    "games",
  ),
  IRC_REALNAME: text("real name of the bridge, which members see in /whois", "chat-bridge games"),
  IRC_SASL: choice(
    "login: plain needs IRC_SASL_ACCOUNT and IRC_SASL_PASSWORD, external needs IRC_CERT and IRC_KEY",
    ["off", "plain", "external"],
    "off",
  ),
  IRC_SASL_ACCOUNT: optional("services account of the bridge"),
  IRC_SASL_PASSWORD: optionalSecret("password of the account"),
  IRC_CERT: optionalFile("client certificate in PEM"),
  IRC_KEY: optionalFile("key of the client certificate in PEM"),
  IRC_CHANNELS: channels('channels to join, each with its key if it has one, e.g. "games,private key"', ""),
  IRC_ALLOW_INVITES: list(
    "who may invite the bridge to further channels: account:<account>, nick:<nick>, or * for everyone",
    "",
  ),
  IRC_FORMATTING: flag("whether bold and italic text is marked with IRC's codes", "on"),
  IRC_MAX_LINES: integer("maximum number of lines of a message", { min: 2, max: 100 }, 12),
  IRC_UPDATE_SECONDS: integer(
    "minimum seconds between two prints of a message that changes often, e.g. a board",
    { min: 1, max: 3600 },
    10,
  ),
  IRC_BURST_LINES: integer("number of lines that may be sent at once", { min: 1, max: 100 }, 5),
  IRC_LINE_MS: integer("milliseconds per further line", { min: 1, max: 60_000 }, 1_000),
};

/** Returns whether a string is a host name or an IP address, without a scheme, a port or a path. */
function isHost(value: string): boolean {
  return isIP(value) !== 0 || HOST_NAME_FORM.test(value);
}

function isNick(value: string): boolean {
  return NICK_FORM.test(value);
}

/** Reports invalid combinations of settings. */
export function checkIrcSettings(values: IrcSettings, settings: { fault(line: string): void }): void {
  const hasLogin = values.IRC_SASL_ACCOUNT !== undefined && values.IRC_SASL_PASSWORD !== undefined;
  const hasCertificate = values.IRC_CERT !== undefined && values.IRC_KEY !== undefined;
  if (values.IRC_SASL === "plain" && !hasLogin) {
    settings.fault("IRC_SASL=plain needs IRC_SASL_ACCOUNT and IRC_SASL_PASSWORD");
  }
  if (values.IRC_SASL === "external" && !(hasCertificate && values.IRC_TLS)) {
    settings.fault("IRC_SASL=external needs IRC_CERT, IRC_KEY and IRC_TLS=on");
  }
  if (values.IRC_SASL === "off" && hasLogin) {
    settings.fault("IRC_SASL_ACCOUNT is not used with IRC_SASL=off: set IRC_SASL=plain");
  }
  if ((values.IRC_CERT === undefined) !== (values.IRC_KEY === undefined)) {
    settings.fault("IRC_CERT and IRC_KEY must be set together");
  }
  if (values.IRC_CHANNELS.length === 0 && values.IRC_ALLOW_INVITES.length === 0) {
    settings.fault(
      "IRC_CHANNELS is missing: give the channels to join, e.g. games, or set IRC_ALLOW_INVITES",
    );
  }
}

/**
 * Returns a setting whose value must satisfy `isValid`. Other values are rejected with the error `fault`. The setting
 * is required if there is no `fallback`.
 */
function matching(
  what: string,
  isValid: (value: string) => boolean,
  fault: string,
  fallback?: string,
): Setting<string> {
  const parse = (value: string): string => {
    if (!isValid(value)) throw new Error(fault);
    return value;
  };
  return { what, fallback, read: (settings, name) => settings.parsed(name, what, parse, fallback) };
}

function channels(what: string, fallback: string): Setting<readonly WantedChannel[]> {
  const parse = (value: string): readonly WantedChannel[] =>
    readChannels(
      value
        .split(",")
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ""),
    );
  return { what, fallback, read: (settings, name) => settings.parsed(name, what, parse, fallback) };
}
