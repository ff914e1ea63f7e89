import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { createBridge, storeInMemory, type Bridge } from "../../index";
import { readCommand } from "../../check/options";
import type { PollerPlace } from "../../check/poll/check-poller";
import type { CheckResult } from "../../check/result";
import { RULES } from "../../check/rules";
import { createReceiver } from "../../receiver";
import { startKitBridge } from "./broken-bridges/kit-bridge";
import { chatCalls, createMemoryChat, SECRET, type MemoryChat } from "./broken-bridges/memory-chat";
import { startPlainBridge } from "./broken-bridges/plain-bridge";
import { startPlainPoller, type PollerChange } from "./broken-bridges/plain-poller";
import { testFolder } from "../../../test/harness/folder";
import { unbuiltProject } from "../harness/shared-kit";
import { plainHost } from "../../../test/harness/plain-host";
import { sharedService } from "../../../test/harness/shared-service";
import { createTestCa } from "../../../test/harness/test-ca";

const service = sharedService();
const folder = testFolder();
const MAIN = join(__dirname, "../../../dist/kit/check/main.js");

/** Runs the command. `onPrinted` is called with everything that the command has printed so far. */
function run(
  args: string,
  environment: Record<string, string> = {},
  onPrinted: (printed: string) => void = () => undefined,
) {
  const env = { PATH: process.env["PATH"], SIGNING_SECRET: SECRET, ...environment };
  return new Promise<{ code: number; output: string; errors: string }>((resolve) => {
    const child = execFile(process.execPath, [MAIN, ...args.split(" ")], { env }, (error, output, errors) => {
      resolve({ code: error === null ? 0 : Number(error.code), output, errors });
    });
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: string) => onPrinted((printed += chunk)));
    }
  });
}

test("the command exits with 0 for a correct bridge; for a broken bridge, it exits with 1 and prints the fix", async () => {
  const change = { entries: (all: readonly string[]) => all.slice(0, 1) };
  const bridges = await Promise.all([startKitBridge(), startPlainBridge(change)]);
  const checks = bridges.map(({ url, observe }) =>
    run(`--url ${url.href} --observe ${observe.href} --only rotation`),
  );
  const [correct, broken] = await Promise.all(checks);
  await Promise.all(bridges.map((bridge) => bridge.close()));
  expect(correct).toMatchObject({ code: 0, output: expect.stringContaining("3 passed, 0 failed") });
  expect(broken?.output).toMatch(/FAILED +rotation +While a secret is rotated/);
  expect(broken?.output).toMatch(/found: a push whose second v1 entry is valid was answered with 401/);
  expect(broken?.output).toMatch(/fix: +check all v1 entries/);
  // The end of the report repeats the broken rules, because the report is long.
  const end =
    /The rules that this bridge breaks:\n  FAILED +rotation .*fix: +check all v1 entries.*\n\n2 passed, 1 failed/s;
  expect(broken?.output).toMatch(end);
  expect(correct?.output).not.toContain("The rules that this bridge breaks");
  expect(broken).toMatchObject({ code: 1, output: expect.stringContaining("2 passed, 1 failed") });
});

/** Runs the check for bridges that poll, and starts the bridge once the check listens. */
async function runPoll(args: string, start: (place: PollerPlace) => { stop(): Promise<void> }) {
  let bridge: ReturnType<typeof start> | undefined;
  const ended = await run(`--poll --listen 127.0.0.1:0 ${args}`, {}, (printed) => {
    const [, baseUrl] = /base URL +(\S+)/.exec(printed) ?? [];
    const [, workspace] = /workspace +(\S+)/.exec(printed) ?? [];
    if (baseUrl !== undefined && workspace !== undefined) bridge ??= start({ baseUrl, workspace });
  });
  await bridge?.stop();
  return ended;
}

/** Starts a bridge that is made with `createBridge`, and sends one event. */
function startWholeBridge({ baseUrl, workspace }: PollerPlace, chat: MemoryChat): Bridge {
  const { edit: update, ...calls } = chatCalls(chat);
  const bridge = createBridge({
    baseUrl,
    workspaceId: workspace,
    secrets: SECRET,
    store: storeInMemory(),
    report: () => undefined,
    chat: { ...calls, update: (event, signal) => update(event.chatMessageId, event, signal) },
  });
  void bridge.start().then(() => bridge.command({ channel: "c1", user: "u1", text: "help" }));
  return bridge;
}

// time: smoke
test("a bridge that is made with createBridge passes every rule of --poll in real time", async () => {
  const chat = createMemoryChat();
  const observation = await plainHost((_request, response) => chat.observe(response));
  const args = `--workspace ${UUID} --observe ${observation.url}/`;
  const { code, output, errors } = await runPoll(args, (place) => startWholeBridge(place, chat));
  await observation.close();
  expect(output).toContain(`workspace  ${UUID}\n`);
  expect(output).toContain(`${RULES.poller.length} passed, 0 failed, 0 partly checked, 0 skipped`);
  expect(errors).toContain("waiting up to 120 seconds for the bridge's first poll");
  expect(code).toBe(0);
});

// time: smoke
test("--poll exits with 1 for a broken bridge, and with 69 if nothing polls; --json prints only the result to stdout", async () => {
  const query: PollerChange["query"] = ({ after }) => (after === null ? "wait=1" : `after=${after}`);
  const [broken, idle] = await Promise.all([
    runPoll("--only poll-query --json", (place) => startPlainPoller(place, createMemoryChat(), { query })),
    run("--poll --listen localhost:0 --wait 1"),
  ]);
  const { mode, rules } = JSON.parse(broken.output) as CheckResult;
  expect([broken.code, mode]).toEqual([1, "poller"]);
  expect(rules.filter(({ verdict }) => verdict === "failed").map(({ id }) => id)).toEqual(["poll-query"]);
  expect(broken.errors).toContain("with these values and the same secret");
  expect(idle).toMatchObject({ code: 69, output: expect.stringContaining("no poll within 1 s") });
});

test("if the address of --listen is in use, the command exits with 69 and names the option", async () => {
  const bridge = await startKitBridge();
  const { code, errors } = await run(`--poll --listen ${bridge.url.host}`);
  await bridge.close();
  expect([code, errors]).toEqual([
    69,
    expect.stringMatching(/address already in use.*; give another .*--listen/),
  ]);
});

test("a bridge whose certificate is from a private CA can be checked with --ca or --insecure-loopback", async () => {
  const ca = createTestCa();
  const { key, cert } = ca.issue(["127.0.0.1"]);
  const receiver = createReceiver({ secrets: SECRET, handle: () => undefined });
  const server = createServer({ key, cert }, receiver.handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const args = `--url https://127.0.0.1:${(server.address() as AddressInfo).port}/ --only recent-taken --json`;
  const runs = ["", ` --ca ${ca.certPath}`, " --insecure-loopback"].map((more) => run(args + more));
  const [plain, ...trusting] = await Promise.all(runs);
  server.close();
  ca.close();
  expect(plain?.output).toMatch(/"found": "a ping: the connection failed: .*certificate.* --ca/);
  expect([plain, ...trusting].map((each) => each?.code)).toEqual([1, 0, 0]);
});

test("if nothing listens at an address, the command exits with 69 and says what to check, and no rule fails", async () => {
  const runs = [`--url ${LOCAL}`, `${SERVICE} ${UUID}`].map((args) => run(args));
  const kit = await startKitBridge();
  const observed = await run(`--url ${kit.url.href} --observe ${LOCAL} --only recent-taken`);
  await kit.close();
  for (const { code, output } of [...(await Promise.all(runs)), observed]) {
    expect(code).toBe(69);
    expect(output).toMatch(/^  not reached \w+ .*ECONNREFUSED.*firewall/ms);
    expect(output).not.toMatch(/FAILED|breaks the contract/);
  }
  expect(observed.output).toContain("2 passed, 0 failed");
});

test("the command exits with 141 and prints no error when the reader of its output closes the pipe", async () => {
  const command = `"${process.execPath}" "${MAIN}" --list | true; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await promisify(execFile)("bash", ["-c", command]);
  expect([stdout, stderr]).toEqual(["141\n", ""]);
});

test("the service can be checked with its base address, a workspace and a secret", async () => {
  const { id, secret } = await service.workspaces.make();
  const environment = { SIGNING_SECRET: secret };
  const { code, output } = await run(`--service ${service.url} --workspace ${id}`, environment);
  expect(output).not.toContain("FAILED");
  expect(output).toMatch(/ok +accepts +A correctly signed message is answered with 202/);
  expect(output).toMatch(/partly +workspace-limit/);
  expect(output).toContain("this service follows the contract, as far as it was checked");
  expect(code).toBe(0);
});

test.each(["/", "//"])("the service's base address can end with %s", async (slashes) => {
  const { id, secret } = await service.workspaces.make();
  const args = `--service ${service.url}${slashes} --workspace ${id} --only accepts`;
  const { code, output } = await run(args, { SIGNING_SECRET: secret });
  expect([code, output]).toEqual([0, expect.stringMatching(/ok +accepts /)]);
});

test("in a project that is not built, check-bridge builds the kit, and chat-bridge names the build command", async () => {
  const cwd = unbuiltProject(folder);
  const inProject = (command: string) => promisify(execFile)("sh", ["-c", command], { cwd });
  const list = await inProject("npm run --silent check-bridge -- --list");
  expect(list.stdout).toContain("Rules for a bridge:");
  await expect(inProject("npx --no-install chat-bridge workspace list")).rejects.toMatchObject({
    code: 78,
    stderr: expect.stringContaining("npm run build") as string,
  });
});

test("--help explains all options, and --list names all rules", async () => {
  const [help, list] = await Promise.all([run("--help"), run("--list")]);
  expect([help.code, help.errors]).toEqual([0, ""]);
  const options = "url poll listen wait observe service workspace secret limits only json ca within".split(
    " ",
  );
  for (const option of options) expect(help.output).toContain(`--${option}`);
  for (const { id, says } of [...RULES.bridge, ...RULES.poller, ...RULES.service]) {
    expect(list.output).toMatch(new RegExp(`^  ${id} +`, "m"));
    expect(list.output).toContain(says);
  }
});

const LOCAL = "http://127.0.0.1:1/";
const EITHER = "give one of --url, for a bridge that receives pushes, --poll";
const SERVICE = `--service ${LOCAL} --workspace`;
const UUID = "6f1c0bd8-6d2f-4b5e-9a53-1f7c0c1d2e3f";

test.each([
  ["options that name two bridges", `--url ${LOCAL} --poll`, EITHER],
  ["--limits for a bridge that polls", "--poll --limits", "--limits is not for a bridge that polls"],
  ["--answer-within for a bridge that polls", "--poll --answer-within 3", "--answer-within is not for"],
  ["--listen for a service", `--service ${LOCAL} --listen 127.0.0.1:1`, "--listen is not for a service"],
  ["--listen with a public address", "--poll --listen 0.0.0.0:9100", "--listen must be a loopback address"],
  ["--listen without a port", "--poll --listen 127.0.0.1", "--listen must be a loopback address and a port"],
  ["a wait of 0 seconds", "--poll --wait 0", "--wait must be from 1 to 600 seconds"],
  ["a rule of another mode", "--poll --only answers", "unknown rule for a bridge that polls: answers"],
  ["options that name neither a bridge nor a service", "--json", EITHER],
  ["options that name both a bridge and a service", `--url ${LOCAL} --service ${LOCAL}`, EITHER],
  ["an unknown option", `--target ${LOCAL}`, "Unknown option '--target'"],
  ["an address without a scheme", "--url bridge.example", "--url must be an address, such as"],
  ["plain HTTP to a public host", "--url http://bridge.example/", "http:// is for loopback addresses only"],
  ["--service without --workspace", `--service ${LOCAL}`, "--workspace is missing"],
  ["a workspace that is not a UUID", `${SERVICE} one`, "--workspace must be a UUID"],
  ["an empty secret", `--url ${LOCAL} --secret=`, "--secret is empty"],
  [
    "a secret in quotation marks",
    `--url ${LOCAL} --secret="s"`,
    "--secret or SIGNING_SECRET: a signing secret begins with a quotation mark (U+0022)",
  ],
  ["an unknown rule", `--url ${LOCAL} --only rotation,all`, "unknown rule for a bridge: all; the rules are"],
  ["--limits for a bridge", `--url ${LOCAL} --limits`, "--limits is not for a bridge"],
  ["--user for a service", `${SERVICE} ${UUID} --user u`, "--user is not for a service"],
  [
    "a certificate file that does not exist",
    `--url ${LOCAL} --ca /nowhere.pem`,
    "/nowhere.pem cannot be read",
  ],
  [
    "--insecure-loopback for a host that is not loopback",
    "--url https://b.example/ --insecure-loopback",
    "not a loopback address; use --ca",
  ],
])("the command rejects %s", (_what, args, told) => {
  const command = readCommand(args.split(" "), { SIGNING_SECRET: SECRET });
  const fault = expect.stringContaining(told) as string;
  expect(command).toEqual({ is: "wrong", faults: expect.arrayContaining([fault]) });
});

test("the command prints the faults of all options together, and exits with 2", async () => {
  const ca = join(folder, "not.pem");
  writeFileSync(ca, "no certificate");
  const { code, output, errors } = await run(`--url x --within 0 --ca ${ca}`, { SIGNING_SECRET: "" });
  expect([code, output]).toEqual([2, ""]);
  const faults = [
    "secret is missing: put it in SIGNING_SECRET",
    "is not a PEM certificate",
    "--within",
    "--url must be",
    "--help",
  ];
  for (const fault of faults) expect(errors).toContain(fault);
});

test("the report and errors are in colour only with FORCE_COLOR or on a terminal", async () => {
  const { url, close } = await startKitBridge();
  const [coloured, plain] = await Promise.all(
    [{ FORCE_COLOR: "1" }, {}].map((environment) => run(`--url ${url.href} --only rotation`, environment)),
  );
  await close();
  const escape = "  \u001b[32mok\u001b[39m       ";
  expect([coloured?.output.includes(escape), plain?.output.includes("\u001b")]).toEqual([true, false]);
  const { errors } = await run("--what", { FORCE_COLOR: "1" });
  expect(errors.startsWith("\u001b[31mchat-bridge-check:\u001b[39m Unknown option")).toBe(true);
});
