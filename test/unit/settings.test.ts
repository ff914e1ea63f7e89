import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCoreConfig } from "../../core/config";
import { readEdgeConfig } from "../../edge/config";
import { SettingsError } from "../../runtime/settings";

const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const CORE = { REDIS_URL: "redis://127.0.0.1:7000", SECRETS_KEY: KEY };
const EDGE = { CORE_TOKEN: "edge-token-for-tests" };

/** Returns the faults that `read` finds in the settings; empty if the settings are valid. */
function faults(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof SettingsError) return error.faults;
    throw error;
  }
  return [];
}

test("core needs only REDIS_URL and SECRETS_KEY, and has defaults for its other settings", () => {
  expect(readCoreConfig(CORE)).toMatchObject({
    redisUrl: CORE.REDIS_URL,
    redisCa: undefined,
    redisWaitReplicas: 0,
    listen: { host: "127.0.0.1", port: 50051 },
    healthListen: { host: "127.0.0.1", port: 50052 },
    tokens: [],
    secretsKeys: [Buffer.from(KEY, "hex")],
    tls: undefined,
    shards: 16,
    pushAllow: [],
    drainMs: 0,
    logLevel: "info",
  });
});

test("the edge needs only CORE_TOKEN, and has defaults for its other settings", () => {
  expect(readEdgeConfig(EDGE)).toEqual({
    listen: { host: "127.0.0.1", port: 8080 },
    healthListen: { host: "127.0.0.1", port: 8081 },
    core: { address: "127.0.0.1:50051", token: EDGE.CORE_TOKEN, tls: undefined },
    trustProxy: [],
    connectionsMax: 8_000,
    addressConnectionsMax: 1_000,
    drainMs: 0,
    logLevel: "info",
    misspelled: [],
  });
});

test("settings are frozen once they are read, and an empty setting counts as unset", () => {
  expect(Object.isFrozen(readEdgeConfig(EDGE))).toBe(true);
  const unset = { ...EDGE, EDGE_LISTEN: "", TRUST_PROXY: "", LOG_LEVEL: "" };
  expect(readEdgeConfig(unset)).toEqual(readEdgeConfig(EDGE));
  const missing = expect.stringMatching(/^CORE_TOKEN is missing/) as string;
  expect(faults(() => readEdgeConfig({ CORE_TOKEN: "" }))).toEqual([missing]);
});

const ID = "0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11";
const OTHER_ID = "7c1d9a52-6f0e-4c9e-9d53-2f6a3d0c7b12";

describe("core", () => {
  test.each([
    ["REDIS_URL", "127.0.0.1:7000", /^REDIS_URL /],
    ["REDIS_URL", "http://127.0.0.1:7000", /^REDIS_URL /],
    ["REDIS_URL", "redis+sentinel://127.0.0.1:7000", /^REDIS_URL must end with .*name of the master/],
    ["REDIS_CA", "/nowhere/redis.pem", /^REDIS_CA .*cannot be read/],
    ["REDIS_WAIT_REPLICAS", "17", /^REDIS_WAIT_REPLICAS .*from 0 to 16/],
    ["SECRETS_KEY", "abc", /^SECRETS_KEY .*32 bytes/],
    ["SECRETS_KEY", `${KEY},abc`, /^SECRETS_KEY .*32 bytes/],
    ["CORE_TOKENS", "edge", /^CORE_TOKENS .*role=token/],
    ["CORE_TOKENS", "king=sixteen-characters", /^CORE_TOKENS .*role=token/],
    ["CORE_TOKENS", "edge=", /^CORE_TOKENS .*role edge/],
    ["CORE_TOKENS", "game=fifteen-charact", /^CORE_TOKENS .*role game/],
    ["CORE_TOKENS", "edge=sixteen-charact\u00e9rs", /^CORE_TOKENS .*ASCII/],
    ["CORE_TOKENS", "operator:=sixteen-characters", /^CORE_TOKENS .*name for the role operator/],
    ["CORE_TOKENS", "operator:a b=sixteen-characters", /^CORE_TOKENS .*name for the role operator/],
    ["CORE_TOKENS", `game:${"x".repeat(65)}=sixteen-characters`, /^CORE_TOKENS .*name for the role game/],
    ["CORE_TOKENS", `edge@${ID}=sixteen-characters`, /^CORE_TOKENS .*role edge/],
    ["CORE_TOKENS", "game:trivia@=sixteen-characters", /^CORE_TOKENS .*token trivia .*UUID/],
    ["CORE_TOKENS", "game:trivia@abc=sixteen-characters", /^CORE_TOKENS .*token trivia .*UUID/],
    ["CORE_TOKENS", `game:trivia@${ID}+=sixteen-characters`, /^CORE_TOKENS .*token trivia .*UUID/],
    ["CORE_TOKENS", `game@${ID.toUpperCase()}=sixteen-characters`, /^CORE_TOKENS .*lower case/],
    [
      "CORE_TOKENS",
      `game:a@${ID}=sixteen-characters,game:a=characters-sixteen`,
      /^CORE_TOKENS .*different workspaces/,
    ],
    [
      "CORE_TOKENS",
      `game:a@${ID}=sixteen-characters,game:a.b@${OTHER_ID}=characters-sixteen`,
      /^CORE_TOKENS .*names a and a\.b, .*same groups/,
    ],
    [
      "CORE_TOKENS",
      "operator:a=sixteen-characters,operator:b=sixteen-characters",
      /^CORE_TOKENS .*one token twice .*a and b/,
    ],
    ["CORE_LISTEN", "50051", /^CORE_LISTEN .*host:port/],
    ["CORE_LISTEN", "127.0.0.1:65536", /^CORE_LISTEN .*host:port/],
    ["CORE_LISTEN", "::1:50051", /^CORE_LISTEN .*host:port/],
    ["CORE_LISTEN", "0.0.0.0:50051", /^CORE_TOKENS is missing: without tokens/],
    ["HEALTH_LISTEN", "127.0.0.1:", /^HEALTH_LISTEN .*host:port/],
    ["SHARDS", "0", /^SHARDS .*from 1 to 1024/],
    ["SHARDS", "1025", /^SHARDS .*from 1 to 1024/],
    ["SHARDS", "1.5", /^SHARDS .*integer/],
    ["SHARDS", "16x", /^SHARDS .*integer/],
    ["DRAIN_SECONDS", "61", /^DRAIN_SECONDS .*from 0 to 60/],
    ["DRAIN_SECONDS", "0.5", /^DRAIN_SECONDS .*integer/],
    ["PUSH_ALLOW", "10.0.0.0", /^PUSH_ALLOW .*CIDR/],
    ["LOG_LEVEL", "loud", /^LOG_LEVEL .*one of fatal, error/],
    ["CORE_TLS_CERT", "/nowhere/cert.pem", /^CORE_TLS_CERT .*cannot be read/],
  ])("core rejects %s if it is %j", (name, value, fault) => {
    const found = faults(() => readCoreConfig({ ...CORE, [name]: value }));
    expect(found.filter((line) => fault.test(line))).toHaveLength(1);
    if (value.length > 4) expect(found.join("\n")).not.toContain(value);
  });

  test("core accepts keys for secrets in hex or base64, and keeps their order", () => {
    const base64 = Buffer.alloc(32, 7).toString("base64");
    const { secretsKeys } = readCoreConfig({ ...CORE, SECRETS_KEY: `${base64}, ${KEY}` });
    expect(secretsKeys).toEqual([Buffer.alloc(32, 7), Buffer.from(KEY, "hex")]);
  });

  test("core accepts several tokens, even for the same role, and tokens that contain an equals sign", () => {
    const { tokens } = readCoreConfig({
      ...CORE,
      CORE_LISTEN: "[::]:1",
      CORE_TOKENS: "edge=sixteen-of-them-1=, edge=sixteen-of-them-2,game=sixteen-of-them-3",
    });
    expect(tokens).toEqual([
      { role: "edge", name: "edge", workspaces: undefined, token: "sixteen-of-them-1=" },
      { role: "edge", name: "edge", workspaces: undefined, token: "sixteen-of-them-2" },
      { role: "game", name: "game", workspaces: undefined, token: "sixteen-of-them-3" },
    ]);
  });

  test("core accepts names and workspaces of tokens, and several tokens with the same name and the same workspaces", () => {
    const entries = [
      "operator:alice=sixteen-of-them-1@:+",
      `game:trivia@${ID}+${OTHER_ID}=sixteen-of-them-2`,
      `game:trivia@${OTHER_ID}+${ID}=sixteen-of-them-3`,
      `operator:trivia@${ID}=sixteen-of-them-2`,
      `game@${ID}=sixteen-of-them-4`,
    ];
    const { tokens } = readCoreConfig({ ...CORE, CORE_TOKENS: entries.join() });
    expect(tokens).toEqual([
      { role: "operator", name: "alice", workspaces: undefined, token: "sixteen-of-them-1@:+" },
      { role: "game", name: "trivia", workspaces: new Set([ID, OTHER_ID]), token: "sixteen-of-them-2" },
      { role: "game", name: "trivia", workspaces: new Set([ID, OTHER_ID]), token: "sixteen-of-them-3" },
      { role: "operator", name: "trivia", workspaces: new Set([ID]), token: "sixteen-of-them-2" },
      { role: "game", name: "game", workspaces: new Set([ID]), token: "sixteen-of-them-4" },
    ]);
  });
});

describe("the edge", () => {
  test.each([
    ["CORE_TOKEN", "two words", /^CORE_TOKEN .*spaces/],
    // The next three tokens contain characters that gRPC metadata cannot carry, and gRPC's error would contain the
    // token.
    ["CORE_TOKEN", "s3cret-tokén", /^CORE_TOKEN .*ASCII/],
    ["CORE_TOKEN", "“a-token-of-the-edge”", /^CORE_TOKEN .*ASCII/],
    ["CORE_TOKEN", "a-token\u0007", /^CORE_TOKEN .*ASCII/],
    ["EDGE_LISTEN", "everywhere", /^EDGE_LISTEN .*host:port/],
    ["HEALTH_LISTEN", "127.0.0.1:99999", /^HEALTH_LISTEN .*host:port/],
    ["CORE_ADDRESS", "http://core:50051", /^CORE_ADDRESS /],
    ["CORE_ADDRESS", "chat-core", /^CORE_ADDRESS /],
    ["CORE_ADDRESS", "core:port", /^CORE_ADDRESS /],
    ["TRUST_PROXY", "10.0.0.0/33", /^TRUST_PROXY .*CIDR/],
    ["TRUST_PROXY", "10.0.0.1, proxy.internal", /^TRUST_PROXY .*CIDR/],
    ["CONNECTIONS_MAX", "99", /^CONNECTIONS_MAX .*from 100 to/],
    ["ADDRESS_CONNECTIONS_MAX", "9", /^ADDRESS_CONNECTIONS_MAX .*from 10 to/],
    ["ADDRESS_CONNECTIONS_MAX", "8000", /^ADDRESS_CONNECTIONS_MAX must be below CONNECTIONS_MAX/],
    ["LOG_LEVEL", "chatty", /^LOG_LEVEL .*one of fatal, error/],
    ["CORE_TLS_CA", "/nowhere/ca.pem", /^CORE_TLS_CA .*cannot be read/],
    ["DASHBOARD_LISTEN", "8082", /^DASHBOARD_LISTEN /],
    ["DASHBOARD_LISTEN", "on", /^DASHBOARD_LISTEN /],
    ["PUBLIC_URL", "bridge.example", /^PUBLIC_URL /],
    ["PUBLIC_URL", "ftp://bridge.example", /^PUBLIC_URL /],
    ["OTEL_SDK_DISABLED", "maybe", /^OTEL_SDK_DISABLED .*one of true, false/],
    ["OTEL_TRACES_EXPORTER", "zipkin", /^OTEL_TRACES_EXPORTER .*neither otlp nor none/],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "otel-host:4318", /^OTEL_EXPORTER_OTLP_ENDPOINT .*URL/],
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://x", /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT .*URL/],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", /^OTEL_EXPORTER_OTLP_PROTOCOL .*http\/protobuf/],
    ["OTEL_TRACES_SAMPLER", "some", /^OTEL_TRACES_SAMPLER .*one of parentbased_always_on/],
    ["OTEL_TRACES_SAMPLER_ARG", "1.01", /^OTEL_TRACES_SAMPLER_ARG .*from 0 to 1/],
    ["OTEL_BSP_MAX_QUEUE_SIZE", "65537", /^OTEL_BSP_MAX_QUEUE_SIZE .*from 1 to 65536/],
  ])("the edge rejects %s if it is %j", (name, value, fault) => {
    const found = faults(() => readEdgeConfig({ ...EDGE, [name]: value }));
    expect(found.filter((line) => fault.test(line))).toHaveLength(1);
    expect(found.join("\n")).not.toContain(value);
  });

  const ADDRESSES = "core:50051 127.0.0.1:50051 [::1]:50051 dns:///core.internal:50051";
  test.each(ADDRESSES.split(" "))("accepts %s as core's address", (address) => {
    expect(readEdgeConfig({ ...EDGE, CORE_ADDRESS: address }).core.address).toBe(address);
  });

  test.each([
    ["", undefined],
    ["off", undefined],
    ["127.0.0.1:8082", { host: "127.0.0.1", port: 8082 }],
    ["[::1]:8082", { host: "::1", port: 8082 }],
  ])("the edge accepts %j as DASHBOARD_LISTEN", (listen, expected) => {
    expect(readEdgeConfig({ ...EDGE, DASHBOARD_LISTEN: listen }).dashboardListen).toEqual(expected);
  });

  test("the edge accepts a public URL with or without a path, and removes slashes at its end", () => {
    for (const url of ["https://hooks.example", "https://hooks.example/base"])
      expect(readEdgeConfig({ ...EDGE, PUBLIC_URL: `${url}//` }).publicUrl).toBe(url);
  });

  test("the edge accepts addresses and CIDR blocks of proxies", () => {
    const { trustProxy } = readEdgeConfig({ ...EDGE, TRUST_PROXY: "10.0.0.0/8, 2001:db8::1" });
    expect(trustProxy).toEqual(["10.0.0.0/8", "2001:db8::1"]);
  });
});

describe("settings that name files", () => {
  let folder: string;
  let pem: string;
  const bytes = Buffer.from("a certificate");
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "cb-settings-"));
    pem = join(folder, "a.pem");
    writeFileSync(pem, bytes);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("settings that name files are replaced by the contents of the files", () => {
    const { tls } = readCoreConfig({ ...CORE, CORE_TLS_CERT: pem, CORE_TLS_KEY: pem });
    expect(tls).toEqual({ cert: bytes, key: bytes, clientCa: undefined });
    const { core } = readEdgeConfig({ ...EDGE, CORE_TLS_CA: pem });
    expect(core.tls).toEqual({ ca: bytes, cert: undefined, key: undefined });
  });

  test.each([
    ["core", "a certificate without its key", ["CORE_TLS_CERT"]],
    ["core", "a client CA without a server certificate", ["CORE_TLS_CLIENT_CA"]],
    ["edge", "a certificate without its key", ["CORE_TLS_CA", "CORE_TLS_CERT"]],
    ["edge", "a certificate without a CA", ["CORE_TLS_CERT", "CORE_TLS_KEY"]],
  ])("must be complete: %s rejects %s", (process, _what, names) => {
    const files = Object.fromEntries(names.map((name) => [name, pem]));
    const read = () =>
      process === "core" ? readCoreConfig({ ...CORE, ...files }) : readEdgeConfig({ ...EDGE, ...files });
    expect(faults(read)).toHaveLength(1);
  });
});

test("all faults are reported in one message, with one line for each fault, without the values", () => {
  const values = { REDIS_URL: "VALUE_A", SECRETS_KEY: "VALUE_B", CORE_LISTEN: "VALUE_C", SHARDS: "VALUE_D" };
  const more = { LOG_LEVEL: "VALUE_E", CORE_TLS_CERT: "VALUE_F" };
  const found = faults(() => readCoreConfig({ ...values, ...more }));
  const named = new Set(found.map((line) => line.split(" ")[0]));
  expect(named).toEqual(new Set([...Object.keys(values), ...Object.keys(more)]));
  const { message } = new SettingsError(found);
  expect(message.split("\n")).toHaveLength(6 + 1);
  expect(message).not.toContain("VALUE");
});

describe("traces", () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

  test.each([
    ["no variable is set", {}, false],
    ["the exporter is otlp", { OTEL_TRACES_EXPORTER: "otlp" }, true],
    ["an endpoint is set", endpoint, true],
    ["an endpoint for traces is set", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://x/v1/traces" }, true],
    ["the exporter is none", { ...endpoint, OTEL_TRACES_EXPORTER: "none" }, false],
    ["the SDK is disabled", { ...endpoint, OTEL_TRACES_EXPORTER: "otlp", OTEL_SDK_DISABLED: "true" }, false],
    ["only a sampler is set", { OTEL_TRACES_SAMPLER: "always_on" }, false],
  ])("if %s, tracing is on: %p", (_if, environment, isOn) => {
    expect(readEdgeConfig({ ...EDGE, ...environment }).tracing !== undefined).toBe(isOn);
    expect(readCoreConfig({ ...CORE, ...environment }).tracing !== undefined).toBe(isOn);
  });

  test("each process has its own name in traces, unless OTEL_SERVICE_NAME is set", () => {
    const nameOf = (more = {}) => [
      readEdgeConfig({ ...EDGE, ...endpoint, ...more }).tracing?.serviceName,
      readCoreConfig({ ...CORE, ...endpoint, ...more }).tracing?.serviceName,
    ];
    expect(nameOf()).toEqual(["chat-bridge-edge", "chat-bridge-core"]);
    expect(nameOf({ OTEL_SERVICE_NAME: "x" })).toEqual(["x", "x"]);
  });
});
