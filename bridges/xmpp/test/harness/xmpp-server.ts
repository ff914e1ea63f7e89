import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { findEjabberd, findProsody } from "../../../../test/programs/apt";
import { freePort } from "../../../../test/harness/processes";
import type { TestCa } from "../../../../test/harness/test-ca";
import { until } from "../../../../test/harness/wait";

/** The accounts of the tests. Each has the password `PASSWORD`. */
const ACCOUNTS = ["games", "ann", "bob", "cid", "eve"];
export const PASSWORD = "a long password";
export const DOMAIN = "localhost";
/** A domain that Prosody serves too, with the certificate of `DOMAIN`. */
export const OTHER_DOMAIN = "other.example";
export const ROOMS = "rooms.localhost";

/** A real XMPP server that the tests of a file can stop and restart on the same port. */
export interface XmppServer {
  readonly port: number;
  /** The CA that signed the server's certificate. */
  readonly caPath: string;
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

function serverOf(port: number, caPath: string, { command, args, environment = {} }: Program): XmppServer {
  let child: ChildProcess | undefined;
  return {
    port,
    caPath,
    async start() {
      let output = "";
      const started = spawn(command, args, {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, ...environment },
      });
      child = started;
      for (const stream of [started.stdout, started.stderr]) {
        stream.on("data", (chunk: Buffer) => (output = (output + chunk.toString()).slice(-20_000)));
      }
      await until("the XMPP server accepts connections", () => {
        if (started.exitCode !== null) throw new Error(`the XMPP server has exited:\n${output}`);
        return accepts(port);
      });
    },
    async stop(signal = "SIGTERM") {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill(signal);
      await exited;
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
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
  const server = serverOf(port, ca.certPath, { command, args: ["--config", config, "-F"] });
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
  // Without a name, the node needs no epmd, so several servers can run at the same time.
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
  const server = serverOf(port, ca.certPath, { command: "erl", args, environment });
  await server.start();
  return server;
}
