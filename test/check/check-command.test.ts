import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createReceiver } from "../../bridge/receiver";
import { RULES } from "../../bridge/check/rules";
import { startKitBridge } from "./broken-bridges/kit-bridge";
import { SECRET, type RunningBridge } from "./broken-bridges/memory-chat";
import { startPlainBridge } from "./broken-bridges/plain-bridge";
import { packKit, type KitPackage } from "../harness/kit-package";
import { createWorkspace, startService } from "../harness/service";
import { createTestCa, type TestCa } from "../harness/test-ca";

interface Run {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

let kit: KitPackage;
let ca: TestCa;
const bridges: { close(): Promise<unknown> }[] = [];
beforeAll(() => {
  kit = packKit();
  ca = createTestCa();
}, 120_000);
afterAll(async () => {
  for (const bridge of bridges) await bridge.close();
  ca.close();
  await kit.close();
});

/** Runs the command of the package as it is published. */
function run(args: readonly string[], environment: Record<string, string> = {}): Promise<Run> {
  const bin = join(kit.folder, "node_modules/chat-bridge-kit/dist/check/main.js");
  const env = { PATH: process.env["PATH"], SIGNING_SECRET: SECRET, ...environment };
  return new Promise((resolve) => {
    execFile(process.execPath, [bin, ...args], { env, timeout: 120_000 }, (error, output, errors) => {
      resolve({ code: error === null ? 0 : Number(error.code), output, errors });
    });
  });
}

async function running(start: Promise<RunningBridge>): Promise<RunningBridge> {
  const bridge = await start;
  bridges.push(bridge);
  return bridge;
}

// contract: kit-hold-update, kit-sequence-order, kit-dedupe
test("bridges that follow the contract keep every rule, and all of them are seen where the chat can be observed", async () => {
  // Built with the kit, and without it; side by side, since most of a check is waiting.
  const correct = await Promise.all([startKitBridge(), startPlainBridge()].map(running));
  const runs = correct.map(({ url, observe }) => run(["--url", url.href, "--observe", observe.href]));
  for (const { code, output, errors } of await Promise.all(runs)) {
    expect(output).not.toContain("FAILED");
    expect(output).toContain(`${RULES.bridge.length} passed, 0 failed, 0 not seen as a whole, 0 skipped`);
    // The rules that no check can see are named.
    expect(output).toMatch(/No check from outside sees\n {2}- that digests are compared in constant time/);
    expect(errors).toContain("7 seconds to wait");
    expect(code).toBe(0);
  }
}, 120_000);

test("without an observation endpoint what cannot be seen is said, and breaks nothing", async () => {
  const { url } = await running(startKitBridge());
  const { code, output } = await run(["--url", url.href, "--json"]);
  const result = JSON.parse(output) as {
    ok: boolean;
    rules: { id: string; verdict: string; why?: string }[];
  };
  const unseen = result.rules.filter(({ verdict }) => verdict === "unseen");
  expect(unseen.map(({ id }) => id)).toEqual([
    "observed",
    "every-type",
    "every-kind",
    "unknown-kind",
    "unknown-fields",
    "repeats",
    "expired-dropped",
    "update-in-place",
    "update-order",
    "update-held",
    "hold-ends",
  ]);
  for (const { why } of unseen) expect(why).toMatch(/^(whether|which|there is no --observe)/);
  expect([result.ok, code]).toEqual([true, 0]);
}, 60_000);

test("a broken bridge is told what was found and what to mend, and the exit code is 1", async () => {
  const { url, observe } = await running(startPlainBridge({ entries: (all) => all.slice(0, 1) }));
  const { code, output } = await run(["--url", url.href, "--observe", observe.href, "--only", "rotation"]);
  expect(output).toMatch(/FAILED +rotation +While a secret is rotated/);
  expect(output).toMatch(/found: a push whose second v1 entry is right was answered 401/);
  expect(output).toMatch(/mend: +go through all v1 entries/);
  expect(output).toContain("2 passed, 1 failed");
  expect(code).toBe(1);
}, 60_000);

test("a bridge behind a certificate of its own is checked with --ca, or with --insecure-loopback", async () => {
  const certificate = ca.issue(["127.0.0.1"]);
  const receiver = createReceiver({ secrets: SECRET, handle: () => undefined });
  const server = createServer({ key: certificate.key, cert: certificate.cert }, receiver.handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  bridges.push({ close: () => new Promise((resolve) => server.close(resolve)) });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const args = ["--url", url, "--only", "recent-taken"];
  const plain = await run(args);
  expect(plain.output.replaceAll(/\s+/g, " ")).toMatch(
    /found: a ping: the connection failed: .*certificate.* --ca/,
  );
  expect(plain.code).toBe(1);
  expect((await run([...args, "--ca", ca.certPath])).code).toBe(0);
  expect((await run([...args, "--insecure-loopback"])).code).toBe(0);
}, 60_000);

test("the service is checked by its base address, a workspace and a secret", async () => {
  const service = await startService();
  bridges.push(service);
  const { id, secret } = await createWorkspace(service.clients);
  const args = ["--service", service.url, "--workspace", id];
  const { code, output } = await run(args, { SIGNING_SECRET: secret });
  expect(output).not.toContain("FAILED");
  expect(output).toMatch(/ok +accepts +A rightly signed message is answered 202/);
  expect(output).toMatch(/unseen +workspace-limit/);
  expect(output).toContain("this service keeps all that was seen of the contract");
  expect(code).toBe(0);
}, 60_000);

test("--help teaches all options, and --list names all rules", async () => {
  const help = await run(["--help"]);
  expect([help.code, help.errors]).toEqual([0, ""]);
  for (const option of [
    "url",
    "observe",
    "service",
    "workspace",
    "secret",
    "limits",
    "only",
    "json",
    "ca",
    "within",
  ]) {
    expect(help.output).toContain(`--${option}`);
  }
  const list = await run(["--list"]);
  for (const { id, says } of [...RULES.bridge, ...RULES.service]) {
    expect(list.output).toMatch(new RegExp(`^  ${id} +`, "m"));
    expect(list.output).toContain(says);
  }
});

const WORKSPACE = "6f1c0bd8-6d2f-4b5e-9a53-1f7c0c1d2e3f";
const LOCAL = "http://127.0.0.1:1/";

test.each<[string, readonly string[], RegExp]>([
  ["neither side", ["--json"], /give either --url, for a bridge, or --service/],
  ["both sides", ["--url", LOCAL, "--service", LOCAL], /give either --url, for a bridge, or --service/],
  ["an option that there is not", ["--target", LOCAL], /Unknown option '--target'/],
  ["an address that is none", ["--url", "bridge.example"], /--url must be an address, such as/],
  [
    "plain HTTP beyond loopback",
    ["--url", "http://bridge.example/"],
    /http:\/\/ is for loopback addresses only/,
  ],
  ["no workspace", ["--service", LOCAL], /--workspace is missing/],
  ["a workspace that is no UUID", ["--service", LOCAL, "--workspace", "one"], /--workspace must be a UUID/],
  ["an empty secret", ["--url", LOCAL, "--secret", ""], /--secret is empty/],
  [
    "a rule that there is not",
    ["--url", LOCAL, "--only", "rotation,all"],
    /all is no rule for a bridge; there are answers,/,
  ],
  ["an option of the other side", ["--url", LOCAL, "--limits"], /--limits is not for a bridge/],
  [
    "an option of the other side",
    ["--service", LOCAL, "--workspace", WORKSPACE, "--user", "u"],
    /--user is not for a service/,
  ],
  ["a time that is none", ["--url", LOCAL, "--within", "soon"], /--within must be from 1 to 600 seconds/],
  [
    "a certificate that is not there",
    ["--url", LOCAL, "--ca", "/nowhere.pem"],
    /\/nowhere.pem cannot be read/,
  ],
  [
    "trust in what is not loopback",
    ["--url", "https://bridge.example/", "--insecure-loopback"],
    /not a loopback address; use --ca/,
  ],
])("%s: the command says what is wrong with it, and the exit code is 2", async (_what, args, told) => {
  const { code, output, errors } = await run(args);
  expect([code, output]).toEqual([2, ""]);
  expect(errors).toMatch(told);
  expect(errors).toContain("--help");
});

test("all faults of a command are told at once", async () => {
  writeFileSync(join(kit.folder, "not.pem"), "no certificate");
  const ca = join(kit.folder, "not.pem");
  const { errors } = await run(["--url", "x", "--within", "0", "--ca", ca], { SIGNING_SECRET: "" });
  expect(errors).toMatch(/--secret is missing/);
  expect(errors).toMatch(/is no PEM certificate/);
  expect(errors).toMatch(/--within/);
  expect(errors).toMatch(/--url must be/);
});
