import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { readCoreConfig } from "../../core/config";

/** Runs a program with `settings` and no other settings, and waits until the program exits. */
async function run(name: string, settings: Readonly<Record<string, string>>) {
  const main = join(__dirname, "../../dist", name, "main.js");
  const child = spawn(process.execPath, [main], { env: { PATH: process.env["PATH"], ...settings } });
  const [[code], stdout, stderr] = await Promise.all([
    once(child, "close"),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code: code as number | null, stdout, stderr };
}

const FAULTY_CORE = {
  REDIS_URL: "http://value-of-redis",
  SECRETS_KEY: "value-of-key",
  CORE_LISTEN: "value-of-listen",
  HEALTH_LISTEN: "value-of-health:70000",
  CORE_TOKENS: "edge=value-token",
  SHARDS: "value-of-shards",
  INBOUND_LOG_MAX: "-1",
  PUSH_ALLOW: "value-of-allow",
  LOG_LEVEL: "value-of-level",
  CORE_TLS_CERT: "/value-of-cert",
};
const FAULTY_EDGE = {
  EDGE_LISTEN: "value-of-listen",
  HEALTH_LISTEN: "value-of-health",
  CORE_ADDRESS: "http://value-of-address",
  CORE_TOKEN: "value of token",
  CORE_TLS_CA: "/value-of-ca",
  TRUST_PROXY: "value-of-proxy",
  LOG_LEVEL: "value-of-level",
};

// Each invalid setting is tested alone in test/unit/settings.test.ts.
test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
  ["core", FAULTY_CORE, Object.keys(FAULTY_CORE)],
  ["edge", FAULTY_EDGE, Object.keys(FAULTY_EDGE)],
  ["demo/game", { CORE_TOKEN: "value-tokén" }, ["CORE_TOKEN"]],
])("%s with %j exits with code 78 and one message that lists all faults", async (name, settings, faulty) => {
  const { code, stdout, stderr } = await run(name, settings);
  expect([code, stdout]).toEqual([78, ""]);
  const [title, ...faults] = stderr.trimEnd().split("\n");
  expect(title).toBe("cannot start: these settings are invalid:");
  const named = faults.map((line) => /^ {2}- ([A-Z_]+) \S/.exec(line)?.[1] ?? line);
  expect(named.toSorted()).toEqual(faulty.toSorted());
  expect(stderr).not.toMatch(/value[- ]/);
});

test("core requires REDIS_URL and SECRETS_KEY, and CORE_TOKENS when it listens on all addresses", () => {
  const lines = ["REDIS_URL is missing", "SECRETS_KEY is missing", "CORE_TOKENS is missing"];
  const read = () => readCoreConfig({ CORE_LISTEN: "[::]:0" });
  for (const line of lines) expect(read).toThrow(`\n  - ${line}`);
});

test("a process whose port is in use exits with code 1 and one line, without a stack trace", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { code, stderr } = await run("edge", {
    CORE_TOKEN: "edge-token-for-tests",
    EDGE_LISTEN: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    HEALTH_LISTEN: "127.0.0.1:0",
  });
  server.close();
  expect(code).toBe(1);
  expect(stderr).toMatch(/^cannot start: .*EADDRINUSE.*\n$/);
});
