import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findInspircd, findNgircd } from "../../../../test/programs/apt";
import { freePort } from "../../../../test/harness/processes";
import type { Certificate } from "../../../../test/harness/test-ca";
import { chatServer, type ChatServer } from "../../../common/test/chat-server";

const HOST = "127.0.0.1";

/** A real IRC server that the tests of a file can stop and restart on the same port. */
export interface IrcServer extends ChatServer {
  readonly host: string;
  /** Certificate to trust; undefined for a server without TLS. */
  readonly caPath: string | undefined;
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
  const program = { command, args: ["--nodaemon", "--config", config] };
  const server = { ...chatServer("IRC", port, program), host: HOST, caPath: undefined };
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
  const server = { ...chatServer("IRC", port, { command, args }), host: HOST, caPath };
  await server.start();
  return server;
}
