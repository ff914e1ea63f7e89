import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findEjabberd, findProsody } from "../../../../test/programs/apt";
import { freePort } from "../../../../test/harness/processes";
import type { TestCa } from "../../../../test/harness/test-ca";
import { chatServer, type ChatServer } from "../../../common/test/chat-server";

/** The accounts of the tests. Each has the password `PASSWORD`. */
const ACCOUNTS = ["games", "ann", "bob", "cid", "eve"];
export const PASSWORD = "a long password";
export const DOMAIN = "localhost";
/** Another domain that Prosody serves, with the certificate of `DOMAIN`. */
export const OTHER_DOMAIN = "other.example";
export const ROOMS = "rooms.localhost";

/** A real XMPP server that the tests of a file can stop and restart on the same port. */
export interface XmppServer extends ChatServer {
  /** The CA that signed the server's certificate. */
  readonly caPath: string;
}

/** Starts Prosody, with the limits of its default configuration. Installs the program if it is missing. */
export async function startProsody(folder: string, ca: TestCa): Promise<XmppServer> {
  const command = await findProsody();
  const port = await freePort();
  const data = join(folder, `prosody-${port}`);
  const accounts = join(data, "localhost/accounts");
  mkdirSync(accounts, { recursive: true });
  for (const name of ACCOUNTS) {
    writeFileSync(join(accounts, `${name}.dat`), `return { ["password"] = "${PASSWORD}" };`);
  }
  const { certPath, keyPath } = ca.issue([DOMAIN]);
  const config = join(data, "prosody.cfg.lua");
  writeFileSync(
    config,
    `run_as_root = true
daemonize = false
pidfile = "${join(data, "prosody.pid")}"
data_path = "${data}"
interfaces = { "127.0.0.1" }
c2s_ports = { ${port} }
c2s_direct_tls_ports = {}
s2s_ports = {}
http_ports = {}
https_ports = {}
modules_enabled = { "disco"; "roster"; "saslauth"; "tls"; "smacks"; "ping"; "limits"; "carbons" }
modules_disabled = { "s2s"; "offline" }
limits = { c2s = { rate = "10kb/s" } }
authentication = "internal_plain"
c2s_require_encryption = true
ssl = { key = "${keyPath}"; certificate = "${certPath}" }
log = { { levels = { min = "info" }; to = "console" } }
VirtualHost "${DOMAIN}"
VirtualHost "${OTHER_DOMAIN}"
Component "${ROOMS}" "muc"
  muc_room_default_persistent = true
`,
  );
  const server = {
    ...chatServer("XMPP", port, { command, args: ["--config", config, "-F"] }),
    caPath: ca.certPath,
  };
  await server.start();
  return server;
}

/** Starts ejabberd, with the limits of its default configuration. Installs the program if it is missing. */
export async function startEjabberd(folder: string, ca: TestCa): Promise<XmppServer> {
  await findEjabberd();
  const port = await freePort();
  const data = join(folder, `ejabberd-${port}`);
  mkdirSync(data, { recursive: true });
  const { certPath, keyPath } = ca.issue([DOMAIN]);
  const pem = join(data, "server.pem");
  writeFileSync(pem, readFileSync(certPath, "utf8") + readFileSync(keyPath, "utf8"));
  const config = join(data, "ejabberd.yml");
  writeFileSync(
    config,
    `loglevel: info
hosts: ["${DOMAIN}"]
certfiles: ["${pem}"]
listen:
  - port: ${port}
    ip: "127.0.0.1"
    module: ejabberd_c2s
    max_stanza_size: 262144
    shaper: c2s_shaper
    starttls_required: true
auth_method: internal
shaper:
  normal: { rate: 3000, burst_size: 20000 }
shaper_rules:
  c2s_shaper: normal
access_rules:
  local: { allow: all }
modules:
  mod_disco: {}
  mod_ping: {}
  mod_roster: {}
  mod_stream_mgmt: { resend_on_timeout: if_offline }
  mod_muc:
    host: "${ROOMS}"
    access_create: local
    default_room_options: { persistent: true }
`,
  );
  const words = (names: readonly string[]) => names.map((name) => `<<"${name}">>`).join(",");
  const register = `[ejabberd_auth:try_register(N,<<"${DOMAIN}">>,<<"${PASSWORD}">>) || N <- [${words(ACCOUNTS)}]]`;
  // Without a name, the Erlang node needs no epmd, so several servers can run at the same time.
  const args = [
    "-noinput",
    "-noshell",
    "-mnesia",
    "dir",
    `"${data}"`,
    "-s",
    "ejabberd",
    "-eval",
    `${register}, ok.`,
  ];
  const environment = {
    ERL_LIBS: "/usr/lib/x86_64-linux-gnu",
    EJABBERD_CONFIG_PATH: config,
    EJABBERD_LOG_PATH: join(data, "ejabberd.log"),
    HOME: data,
  };
  const server = { ...chatServer("XMPP", port, { command: "erl", args, environment }), caPath: ca.certPath };
  await server.start();
  return server;
}
