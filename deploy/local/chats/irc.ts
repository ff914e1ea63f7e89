import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatHostPort } from "../../../runtime/settings";
import { StartFault } from "../start-fault";
import type { LocalChat } from "./local-chat";
import { whyNotListening } from "./why-not-listening";

/** The channel that the bridge joins. */
const CHANNEL = "#games";

/** IRC, with the server ngIRCd. Members need no account. */
export const IRC: LocalChat = {
  label: "IRC",
  hasAccounts: false,

  findServer(find) {
    const found = find("ngircd");
    if (found !== undefined) return [found];
    throw new StartFault(
      "--with irc needs the IRC server ngIRCd: run sudo apt-get install ngircd (or brew install ngircd), and start again. " +
        "To use another server, see bridges/irc/README.md.",
    );
  },

  async configure(command, { folder, listen }) {
    const file = join(folder, "ngircd.conf");
    writeFileSync(
      file,
      `[Global]
Name = irc.localhost
Info = npm start
Listen = ${listen.host}
Ports = ${listen.port}
MotdPhrase = Games are in ${CHANNEL}: type !play
[Limits]
MaxConnectionsIP = 0
MaxNickLength = 30
[Options]
DNS = no
Ident = no
PAM = no
`,
      { mode: 0o600 },
    );
    return [...command, "--nodaemon", "--config", file];
  },

  whyNotReady: whyNotListening,

  bridgeSettings: ({ at }) => ({
    IRC_HOST: at.host,
    IRC_PORT: String(at.port),
    IRC_TLS: "off",
    IRC_CHANNELS: CHANNEL,
  }),

  howToJoin: ({ at }) => ({
    at: formatHostPort(at),
    room: CHANNEL,
    lines: [`join ${CHANNEL} with any IRC client, and type !play start`],
  }),
};
