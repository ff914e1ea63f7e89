import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { findInspircd, findNgircd } from "../../../../test/programs/apt";
import { freePort } from "../../../../test/harness/processes";
import type { Certificate } from "../../../../test/harness/test-ca";
import { until } from "../../../../test/harness/wait";

/** A real IRC server that the tests of a file can stop and restart on the same port. */
export interface IrcServer {
  readonly host: string;
  readonly port: number;
  /** Certificate to trust; undefined for a server without TLS. */
  readonly caPath: string | undefined;
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

interface Started {
  readonly command: string;
  readonly args: readonly string[];
}

function serverOf(port: number, caPath: string | undefined, { command, args }: Started): IrcServer {
  let child: ChildProcess | undefined;
  return {
    host: "127.0.0.1",
    port,
    caPath,
    async start() {
      let output = "";
      const started = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
      child = started;
      for (const stream of [started.stdout, started.stderr]) {
        stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
      }
      await until("the IRC server accepts connections", () => {
        if (started.exitCode !== null) throw new Error(`the IRC server has exited:\n${output}`);
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

/** Starts ngIRCd, a server without TLS and without echoes. Installs the program if it is missing. */
export async function startNgircd(folder: string): Promise<IrcServer> {
  const command = await findNgircd();
  const port = await freePort();
  const config = join(folder, "ngircd.conf");
  writeFileSync(
    config,
    `[Global]
Name = irc.test
Info = Test server
Listen = 127.0.0.1
Ports = ${port}
MotdPhrase = Test
[Limits]
MaxConnectionsIP = 0
MaxNickLength = 20
[Options]
DNS = no
Ident = no
PAM = no
`,
  );
  const server = serverOf(port, undefined, { command, args: ["--nodaemon", "--config", config] });
  await server.start();
  return server;
}

/** Starts InspIRCd, a server with TLS and echoes. Installs the program if it is missing. */
export async function startInspircd(
  folder: string,
  { certPath, keyPath }: Certificate,
  caPath: string,
): Promise<IrcServer> {
  const command = await findInspircd();
  const port = await freePort();
  const config = join(folder, "inspircd.conf");
  const data = join(folder, "data");
  mkdirSync(data, { recursive: true });
  const modules = [
    "cap",
    "ircv3",
    "ircv3_echomessage",
    "ircv3_accounttag",
    "ircv3_msgid",
    "ircv3_servertime",
  ];
  const more = ["services_account", "ssl_gnutls"];
  writeFileSync(
    config,
    `<server name="irc.test" description="Test server" network="Test">
<admin name="Test" nick="test" email="test@localhost">
<bind address="127.0.0.1" port="${port}" type="clients" sslprofile="test">
${[...modules, ...more].map((name) => `<module name="${name}">`).join("\n")}
<sslprofile name="test" provider="gnutls" certfile="${certPath}" keyfile="${keyPath}" hash="sha256">
<connect allow="*" timeout="60" pingfreq="120" hardsendq="1M" softsendq="8192" recvq="8192"
  threshold="10" commandrate="1000" fakelag="yes" localmax="100" globalmax="100" resolvehostnames="no">
<path configdir="${folder}" datadir="${data}" logdir="${data}" runtimedir="${data}"
  moduledir="/usr/lib/inspircd/modules">
<pid file="${join(data, "inspircd.pid")}">
<options defaultmodes="o">
`,
  );
  const args = ["--nofork", "--runasroot", "--nopid", "--config", config];
  const server = serverOf(port, caPath, { command, args });
  await server.start();
  return server;
}
