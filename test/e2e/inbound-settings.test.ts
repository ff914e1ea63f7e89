import { spawn } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a process with just these settings, until it ends. */
function run(name: "core" | "edge", settings: Readonly<Record<string, string>>): Promise<Ended> {
  const main = join(__dirname, "../../dist", name, "main.js");
  const child = spawn(process.execPath, [main], { env: { PATH: process.env["PATH"], ...settings } });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
  return new Promise((resolve) =>
    child.once("close", (code) => {
      clearTimeout(late);
      resolve({ code, stdout, stderr });
    }),
  );
}

test.each<["core" | "edge", Record<string, string>, readonly string[]]>([
  ["core", {}, ["REDIS_URL", "SECRETS_KEY"]],
  [
    "core",
    {
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
    },
    [
      "REDIS_URL",
      "CORE_LISTEN",
      "HEALTH_LISTEN",
      "CORE_TOKENS",
      "SECRETS_KEY",
      "CORE_TLS_CERT",
      "SHARDS",
      "INBOUND_LOG_MAX",
      "PUSH_ALLOW",
      "LOG_LEVEL",
    ],
  ],
  [
    "core",
    {
      REDIS_URL: "redis://user:value-of-password@127.0.0.1:1",
      SECRETS_KEY: "0f".repeat(32),
      CORE_LISTEN: "0.0.0.0:0",
    },
    ["CORE_TOKENS"],
  ],
  ["edge", {}, ["CORE_TOKEN"]],
  [
    "edge",
    {
      EDGE_LISTEN: "value-of-listen",
      HEALTH_LISTEN: "value-of-health",
      CORE_ADDRESS: "http://value-of-address",
      CORE_TOKEN: "value of token",
      CORE_TLS_CA: "/value-of-ca",
      TRUST_PROXY: "value-of-proxy",
      LOG_LEVEL: "value-of-level",
    },
    ["EDGE_LISTEN", "HEALTH_LISTEN", "CORE_ADDRESS", "CORE_TOKEN", "CORE_TLS_CA", "TRUST_PROXY", "LOG_LEVEL"],
  ],
])(
  "%s with settings %j ends with 78 and one message that lists all faults",
  async (name, settings, faulty) => {
    const { code, stdout, stderr } = await run(name, settings);
    expect([code, stdout]).toEqual([78, ""]);
    const [title, ...faults] = stderr.trimEnd().split("\n");
    expect(title).toBe("cannot start, the settings are at fault:");
    const named = faults.map((line) => /^ {2}- ([A-Z_]+) \S/.exec(line)?.[1] ?? line);
    expect(new Set(named)).toEqual(new Set(faulty));
    expect(named).toHaveLength(faulty.length);
    expect(stderr).not.toMatch(/value[- ]/);
    expect(stderr).not.toContain("0f0f");
  },
);

test("a port that is taken ends a process with 1 and one line, without a stack", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { code, stderr } = await run("edge", {
      CORE_TOKEN: "edge-token-for-tests",
      EDGE_LISTEN: `127.0.0.1:${(server.address() as AddressInfo).port}`,
      HEALTH_LISTEN: "127.0.0.1:0",
    });
    expect([code, stderr.trimEnd().split("\n").length]).toEqual([1, 1]);
    expect(stderr).toMatch(/^cannot start: .*EADDRINUSE/);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});
