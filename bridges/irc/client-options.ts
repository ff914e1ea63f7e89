import type { ClientOptions } from "irc-framework";
import { socketTransport } from "./connection/socket-transport";
import type { IrcSettings } from "./irc-settings";

const PING_EVERY_SECONDS = 30;
const SILENT_AFTER_SECONDS = 120;

/**
 * Returns the options of irc-framework's client.
 *
 * @param onSkipped called with the error when a line of the server cannot be read
 */
export function clientOptions(settings: IrcSettings, onSkipped: (error: unknown) => void): ClientOptions {
  const { IRC_HOST: host, IRC_PORT: port, IRC_CERT: cert, IRC_KEY: key, IRC_CA: ca } = settings;
  const certificate = cert !== undefined && key !== undefined ? { cert, key } : {};
  const account =
    settings.IRC_SASL === "plain"
      ? { account: settings.IRC_SASL_ACCOUNT ?? "", password: settings.IRC_SASL_PASSWORD ?? "" }
      : {};
  return {
    host,
    port,
    nick: settings.IRC_NICK,
    username: settings.IRC_USERNAME,
    gecos: settings.IRC_REALNAME,
    ...(settings.IRC_PASSWORD === undefined ? {} : { password: settings.IRC_PASSWORD }),
    // If `account` were undefined, irc-framework would also use the server's password for the login.
    account,
    ...(settings.IRC_SASL === "off"
      ? {}
      : { sasl_mechanism: settings.IRC_SASL === "external" ? ("EXTERNAL" as const) : ("PLAIN" as const) }),
    sasl_disconnect_on_fail: true,
    enable_echomessage: true,
    auto_reconnect: false,
    ping_interval: PING_EVERY_SECONDS,
    ping_timeout: SILENT_AFTER_SECONDS,
    // An empty version switches off irc-framework's automatic answers, because they would bypass the flood gate.
    version: "",
    transport: socketTransport({
      host,
      port,
      tls: settings.IRC_TLS ? { ca, ...certificate } : undefined,
      onSkipped,
    }),
  };
}
