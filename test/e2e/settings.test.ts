import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { readCoreConfig } from "../../core/config";
import { SECRETS_KEY, startCore, TOKENS } from "../harness/processes";
import { runProgram as run } from "../harness/run-program";
import { sharedService } from "../harness/shared-service";
import { createTestCa } from "../harness/test-ca";

const service = sharedService();
const ca = createTestCa();
afterAll(() => ca.close());
const certificate = ca.issue(["localhost"]);

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

/** The settings that a program needs to start, without the addresses of its listeners. */
const VALID: Readonly<Record<string, () => Readonly<Record<string, string>>>> = {
  core: () => ({ REDIS_URL: service.redis.url, SECRETS_KEY }),
  edge: () => ({ CORE_TOKEN: TOKENS.edge, CORE_ADDRESS: `127.0.0.1:${service.core.port}` }),
  "demo/game": () => ({ CORE_TOKEN: TOKENS.game, CORE_ADDRESS: `127.0.0.1:${service.core.port}` }),
  "demo/chat": () => ({
    BASE_URL: service.url,
    WORKSPACE_ID: "0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11",
    SIGNING_SECRET: "a secret",
    PUSH_TLS_CERT: certificate.certPath,
    PUSH_TLS_KEY: certificate.keyPath,
  }),
};
const LISTENERS: Readonly<Record<string, readonly string[]>> = {
  core: ["CORE_LISTEN", "HEALTH_LISTEN"],
  edge: ["EDGE_LISTEN", "HEALTH_LISTEN", "DASHBOARD_LISTEN"],
  "demo/game": ["PICTURES_LISTEN", "HEALTH_LISTEN"],
  "demo/chat": ["CHAT_LISTEN", "HEALTH_LISTEN", "PUSH_LISTEN"],
};
const listeners = Object.entries(LISTENERS).flatMap(([name, all]) =>
  all.map((each) => [name, each] as const),
);

describe("an address that a process cannot listen on is an invalid setting:", () => {
  test.each(listeners)(
    "%s exits with code 78 and one line that names %s if its port is in use",
    async (name, faulty) => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      const addresses = Object.fromEntries(LISTENERS[name]?.map((each) => [each, "127.0.0.1:0"]) ?? []);
      const taken = `127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { code, stderr } = await run(name, { ...VALID[name]?.(), ...addresses, [faulty]: taken });
      server.close();
      expect(code).toBe(78);
      const [title, ...faults] = stderr.trimEnd().split("\n");
      expect(title).toBe("cannot start: these settings are invalid:");
      const why = `listen EADDRINUSE: address already in use ${taken}`;
      expect(faults).toEqual([
        `  - ${faulty} cannot be used: ${why}: stop the program that uses the port, or set another port`,
      ]);
    },
  );

  test("an address of another machine", async () => {
    const addresses = { EDGE_LISTEN: "192.0.2.1:0", HEALTH_LISTEN: "127.0.0.1:0" };
    const { code, stderr } = await run("edge", { ...VALID["edge"]?.(), ...addresses });
    expect([code, stderr]).toEqual([
      78,
      expect.stringMatching(/- EDGE_LISTEN .*EADDRNOTAVAIL.*: set an address of this machine\n$/),
    ]);
  });
});

test("core with a different number of shards than its Redis exits with code 78", async () => {
  const { code, stderr } = await run("core", {
    ...VALID["core"]?.(),
    SHARDS: "8",
    HEALTH_LISTEN: "127.0.0.1:0",
  });
  expect([code, stderr]).toEqual([78, expect.stringMatching(/\n {2}- SHARDS is 8, .*: set SHARDS=16\n$/)]);
});

describe("misspelled settings", () => {
  test("if core cannot start, the error names a misspelled setting together with the faults that it causes", async () => {
    const { code, stderr } = await run("core", { REDIS_URL: service.redis.url, SECRET_KEY: SECRETS_KEY });
    expect([code, stderr]).toEqual([
      78,
      expect.stringContaining("\n  - SECRET_KEY is not a setting: did you mean SECRETS_KEY?\n"),
    ]);
    expect(stderr).not.toContain(SECRETS_KEY);
  });

  test("a misspelled setting causes a warning in the log if the process can start without the setting", async () => {
    const core = await startCore(service.redis.url, { PUSH_ALOW: "127.0.0.1" });
    await core.stop();
    const warnings = core.log.filter(
      ({ level, msg }) => level === "warn" && String(msg).includes("PUSH_ALOW"),
    );
    expect(warnings.map(({ msg }) => msg)).toEqual(["PUSH_ALOW is not a setting: did you mean PUSH_ALLOW?"]);
  });
});
