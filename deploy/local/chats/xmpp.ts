import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatHostPort, type HostPort } from "../../../runtime/settings";
import { keptCertificate } from "../certificate";
import { StartFault } from "../start-fault";
import { BRIDGE_ACCOUNT, MEMBERS, type LocalChat } from "./local-chat";
import { whyNotListening } from "./why-not-listening";

const DOMAIN = "localhost";
const ROOMS_DOMAIN = `rooms.${DOMAIN}`;
const ROOM = `${BRIDGE_ACCOUNT}@${ROOMS_DOMAIN}`;

/** XMPP, with the server Prosody. */
export const XMPP: LocalChat = {
  label: "XMPP",
  hasAccounts: true,

  findServer(find) {
    const found = find("prosody");
    if (found !== undefined) return [found];
    throw new StartFault(
      "--with xmpp needs the XMPP server Prosody: run sudo apt-get install prosody " +
        "(or brew install prosody/prosody/prosody), and start again. To use another server, see bridges/xmpp/README.md.",
    );
  },

  async configure(command, { folder, listen, passwords }) {
    const accounts = join(folder, "data", DOMAIN, "accounts");
    const [modules, certificates] = [join(folder, "modules"), join(folder, "certs")];
    for (const each of [accounts, modules, certificates]) mkdirSync(each, { recursive: true, mode: 0o700 });
    writeAccount(accounts, BRIDGE_ACCOUNT, passwords.bridge);
    for (const name of MEMBERS) writeAccount(accounts, name, passwords.members);
    writeFileSync(join(modules, "mod_games_room.lua"), roomModule());
    const certificate = await keptCertificate(certificates, DOMAIN);
    const tls =
      certificate &&
      `ssl = { key = ${lua(certificate.keyPath)}; certificate = ${lua(certificate.certPath)} }`;
    const file = join(folder, "prosody.cfg.lua");
    writeFileSync(file, `${configuration(folder, modules, listen)}${tls ?? ""}\n${HOSTS}`, { mode: 0o600 });
    return [...command, "--config", file, "-F"];
  },

  whyNotReady: whyNotListening,

  bridgeSettings: ({ at, passwords }) => ({
    XMPP_JID: `${BRIDGE_ACCOUNT}@${DOMAIN}`,
    XMPP_PASSWORD: passwords.bridge,
    XMPP_SERVER: formatHostPort(at),
    XMPP_TLS: "off",
    XMPP_CA: undefined,
    XMPP_ROOMS: ROOM,
  }),

  howToJoin: ({ at, passwords }) => ({
    at: formatHostPort(at),
    room: ROOM,
    lines: [
      `join ${ROOM} with any XMPP client, and type !play start`,
      `(accounts ${MEMBERS.map((name) => `${name}@${DOMAIN}`).join(" and ")}; password of both: ${passwords.members} )`,
    ],
  }),
};

/** Writes an account. Prosody replaces the password with a hash when the account logs in. */
function writeAccount(folder: string, name: string, password: string): void {
  const text = `return { ["password"] = ${lua(password)} };\n`;
  writeFileSync(join(folder, `${name}.dat`), text, { mode: 0o600 });
}

/** Returns a string of Lua. */
function lua(text: string): string {
  return JSON.stringify(text);
}

/** Returns Prosody's configuration. Members may connect without TLS, because a certificate needs openssl. */
function configuration(folder: string, modules: string, { host, port }: HostPort): string {
  return `run_as_root = true
daemonize = false
pidfile = ${lua(join(folder, "prosody.pid"))}
data_path = ${lua(join(folder, "data"))}
plugin_paths = { ${lua(modules)} }
interfaces = { ${lua(host)} }
c2s_ports = { ${port} }
c2s_direct_tls_ports = {}
s2s_ports = {}
http_ports = {}
https_ports = {}
modules_enabled = { "blocklist"; "carbons"; "disco"; "pep"; "ping"; "roster"; "saslauth"; "smacks"; "tls" }
modules_disabled = { "s2s" }
authentication = "internal_hashed"
c2s_require_encryption = false
log = { { levels = { min = "info" }; to = "console" } }
`;
}

const HOSTS = `VirtualHost ${lua(DOMAIN)}
Component ${lua(ROOMS_DOMAIN)} "muc"
  modules_enabled = { "games_room" }
  muc_room_default_persistent = true
  muc_room_default_public = true
`;

/**
 * Returns a module of Prosody that creates the room, because the bridge does not create rooms. The members own the
 * room. The room keeps its salt, so that members have the same ids after a restart.
 */
function roomModule(): string {
  return `local muc = module:depends("muc")
if not muc.get_room_from_jid(${lua(ROOM)}) then
  local room = muc.create_room(${lua(ROOM)})
  room:set_name("Games")
${MEMBERS.map((name) => `  room:set_affiliation(true, ${lua(`${name}@${DOMAIN}`)}, "owner")`).join("\n")}
  room._data.occupant_id_salt = ${lua(randomBytes(16).toString("hex"))}
  room:save(true)
end
`;
}
