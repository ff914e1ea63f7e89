import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { connect } from "node:tls";
import { findCaddy, findNginx } from "../programs/apt";
import { freePort } from "./processes";
import { exchange } from "./raw-http";
import { setUp } from "./setup";
import type { TestCa } from "./test-ca";
import { until } from "./wait";

/** The host names of the proxies. */
export const NAMES = { hooks: "hooks.example.com", dashboard: "games.example.com" } as const;
export type ProxyName = "caddy" | "nginx";

export interface MachineProxyOptions {
  readonly folder: string;
  readonly ca: TestCa;
  /** The ports of the edge and of the dashboard. */
  readonly upstream: { readonly hooks: number; readonly dashboard: number };
}

export type MachineProxy = Awaited<ReturnType<typeof startMachineProxy>>;

/** Runs Caddy or nginx with the configuration that `chat-bridge setup` writes, on free loopback ports. */
export async function startMachineProxy(kind: ProxyName, { folder, ca, upstream }: MachineProxyOptions) {
  const { certPath, keyPath } = ca.issue(Object.values(NAMES));
  const [http, https] = [await freePort(), await freePort()];
  const root = join(folder, `${kind}-${https}`);
  const names = ["--hooks", NAMES.hooks, "--dashboard", NAMES.dashboard];
  const { status, stderr } = setUp(root, [
    ...names,
    "--proxy",
    kind,
    "--certificates",
    `${certPath},${keyPath}`,
    "--yes",
  ]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const start = { caddy: startCaddy, nginx: startNginx }[kind];
  const child = await start(root, { http, https, upstream });
  const plain = await removeTls(https, ca, NAMES.hooks);
  const plainDashboard = await removeTls(https, ca, NAMES.dashboard);
  await until("the proxy answers", () =>
    exchange(plain.url, `GET / HTTP/1.1\r\nHost: ${NAMES.hooks}\r\nConnection: close\r\n\r\n`).then(
      ({ answers }) => answers.length > 0,
    ),
  );
  return {
    http,
    https,
    /** Plain URLs whose connections are forwarded to the proxy over TLS, from the address of the client. */
    plain: { hooks: plain.url, dashboard: plainDashboard.url },
    async stop(): Promise<void> {
      plain.close();
      plainDashboard.close();
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "close");
    },
  };
}

interface Ports {
  readonly http: number;
  readonly https: number;
  readonly upstream: MachineProxyOptions["upstream"];
}

/** Returns a configuration of the proxy in which the ports are those of a test. */
function adapted(file: string, { upstream }: Ports, changes: readonly (readonly [string, string])[]): string {
  const ports: readonly (readonly [string, string])[] = [
    ["127.0.0.1:8080", `127.0.0.1:${upstream.hooks}`],
    ["127.0.0.1:8082", `127.0.0.1:${upstream.dashboard}`],
  ];
  return [...ports, ...changes].reduce(
    (text, [from, to]) => {
      expect(text).toContain(from);
      return text.replaceAll(from, to);
    },
    readFileSync(file, "utf8"),
  );
}

async function startCaddy(root: string, ports: Ports): Promise<ChildProcess> {
  const text = adapted(join(root, "etc/chat-bridge/Caddyfile"), ports, [
    [
      "\n{\n",
      `\n{\n\tadmin off\n\thttp_port ${ports.http}\n\thttps_port ${ports.https}\n\tdefault_bind 127.0.0.1\n`,
    ],
  ]);
  const file = join(root, "Caddyfile");
  writeFileSync(file, text);
  const env = { PATH: process.env["PATH"], HOME: root, XDG_DATA_HOME: root, XDG_CONFIG_HOME: root };
  return spawn(await findCaddy(), ["run", "--adapter", "caddyfile", "--config", file], {
    env,
    stdio: "ignore",
  });
}

async function startNginx(root: string, ports: Ports): Promise<ChildProcess> {
  const site = adapted(join(root, "etc/chat-bridge/nginx.conf"), ports, [
    ["listen 80;", `listen 127.0.0.1:${ports.http};`],
    ["  listen [::]:80;\n", ""],
    ["listen 443 ssl", `listen 127.0.0.1:${ports.https} ssl`],
    ["  listen [::]:443 ssl http2;\n", ""],
  ]);
  writeFileSync(join(root, "site.conf"), site);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${root}/${name};`,
  );
  const user = process.getuid?.() === 0 ? "user root;" : "";
  const main = [
    `${user} daemon off; pid ${root}/pid; error_log ${root}/error.log; worker_rlimit_nofile 16384;`,
    "events { worker_connections 8192; }",
    `http { access_log off; ${temporary.join(" ")} include ${root}/site.conf; }`,
  ];
  const file = join(root, "nginx.conf");
  mkdirSync(root, { recursive: true });
  writeFileSync(file, main.join("\n"));
  return spawn(await findNginx(), ["-c", file, "-p", root], { stdio: "ignore" });
}

/** Opens a loopback port, and forwards its connections over TLS, from the address of the client. */
async function removeTls(port: number, ca: TestCa, servername: string) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const localAddress = near.remoteAddress?.replace("::ffff:", "");
    const where = { host: "127.0.0.1", port, ca: ca.cert, servername, ...(localAddress && { localAddress }) };
    const far = connect(where);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket
        .on("error", () => undefined)
        .on("close", () => {
          sockets.delete(socket);
          other.destroy();
        });
    }
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close(): void {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
