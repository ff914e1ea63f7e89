import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findHaproxy } from "../programs/apt";
import { send } from "./bridge";
import { ROOT } from "./compose-file";
import { freePort } from "./processes";
import { until } from "./wait";

/** The content of the proxy's configuration file. */
export const PROXY_CONFIG = readFileSync(join(ROOT, "deploy/compose/proxy/haproxy.cfg"), "utf8");
/** The default of PROXY_CERTIFICATES. With this default, the proxy serves plain HTTP. */
export const NO_CERTIFICATES = "./deploy/compose/proxy";

/** A server behind the proxy, with the port that it serves and the port that the proxy probes. */
export interface ProxiedServer {
  readonly port: number;
  readonly healthPort: number;
}

export interface HaproxyOptions {
  /** A folder for the adapted configuration. */
  readonly folder: string;
  /** The servers of each `server-template`, by the name of the template, e.g. `edge`. */
  readonly servers: Readonly<Record<string, readonly ProxiedServer[]>>;
  readonly certificates?: string;
  /** The value of TRUST_PROXY. */
  readonly trusted?: string;
}

/**
 * Runs HAProxy with deploy/compose/proxy/haproxy.cfg, on free loopback ports and with the given servers. Resolves when
 * the proxy uses all servers. `portOf` maps a port in the configuration to the free port that replaces it.
 */
export async function startHaproxy({
  folder,
  servers,
  certificates = NO_CERTIFICATES,
  trusted = "",
}: HaproxyOptions) {
  const ports = new Map<string, number>();
  for (const [, port = ""] of PROXY_CONFIG.matchAll(/bind :(\d+)/g)) ports.set(port, await freePort());
  const portOf = (port: number): number => ports.get(String(port)) ?? 0;
  const config = PROXY_CONFIG.replaceAll(
    /bind :(\d+)/g,
    (_all, port) => `bind 127.0.0.1:${portOf(Number(port))}`,
  )
    .replaceAll("/certificates/", `${certificates}/`)
    .replace("default-path config", `default-path origin ${join(ROOT, "deploy/compose/proxy")}`)
    .replaceAll(/^ *server-template (\w+) .*$/gm, (template, name: string) =>
      servers[name] === undefined ? template : linesOf(name, servers[name]).join("\n"),
    );
  const file = join(folder, `${portOf(8080)}.cfg`);
  writeFileSync(file, config);
  const env = { ...process.env, PROXY_CERTIFICATES: certificates, TRUST_PROXY: trusted };
  const child: ChildProcess = spawn(await findHaproxy(), ["-db", "-f", file], { env, stdio: "ignore" });
  const count = (name: string): number => servers[name]?.length ?? 0;
  const ready = `edge ${count("edge")} core ${count("core")} dashboard ${count("dashboard")}`;
  await until("the proxy uses all servers", () =>
    send(`http://127.0.0.1:${portOf(8081)}`, "/ready").then(
      ({ body }) => body.toString("utf8") === ready,
      () => false,
    ),
  );
  return { portOf, stop: (): boolean => child.kill("SIGKILL") };
}

const linesOf = (name: string, servers: readonly ProxiedServer[]): string[] =>
  servers.map(({ port, healthPort }, at) => `  server ${name}${at} 127.0.0.1:${port} port ${healthPort}`);
