import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "../../cli/exit-code";
import { coloured } from "../../kit/terminal-colour";
import { runCli, startCli, startCliProcess } from "../harness/cli";
import { poll } from "../harness/bridge";
import { testFolder } from "../harness/folder";
import { freePort, startCore, TOKENS } from "../harness/processes";
import { startService } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { startSilentServer } from "../harness/silent-server";
import { createTestCa } from "../harness/test-ca";
import { until } from "../harness/wait";

const service = sharedService();
const folder = testFolder();

const LIST = "workspace list";

function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

describe("tokens:", () => {
  const run = (args: string, environment: Record<string, string>) =>
    runCli(`${LIST}${args}`, { role: "nobody", corePort: service.core.port, environment });
  const { operator, game } = TOKENS;
  const SETTINGS = JSON.stringify({ tokens: TOKENS });

  test.each<[string, () => string, () => Record<string, string>]>([
    ["CORE_TOKEN", () => "", () => ({ CORE_TOKEN: operator })],
    ["the file of --token-file", () => ` --token-file ${file("a", `${operator}\n`)}`, () => ({})],
    ["the file of CORE_TOKEN_FILE", () => "", () => ({ CORE_TOKEN_FILE: file("b", operator) })],
    ["npm start's settings", () => "", () => ({ CORE_TOKEN_FILE: file("s.json", SETTINGS) })],
    [
      "--token-file rather than CORE_TOKEN",
      () => ` --token-file ${file("c", operator)}`,
      () => ({ CORE_TOKEN: game }),
    ],
  ])("the token is read from %s", async (_what, args, environment) => {
    const { code, stderr } = await run(args(), environment());
    expect([code, stderr]).toEqual([EXIT.DONE, ""]);
  });

  const MISSING = /CORE_TOKEN is missing.*operator.*--token-file.*never an argument/s;
  const ASCII = /CORE_TOKEN may contain only .*ASCII/;

  test.each<[string, () => string, Record<string, string>, number, RegExp]>([
    ["the token is missing", () => "", {}, EXIT.SETTINGS, MISSING],
    [
      "the token is an argument",
      () => ` --token ${operator}`,
      {},
      EXIT.USAGE,
      /never an argument.*CORE_TOKEN/,
    ],
    ["the token file is missing", () => ` --token-file ${join(folder, "none")}`, {}, EXIT.SETTINGS, /ENOENT/],
    [
      "the token file has no token for the role",
      () => ` --token-file ${file("d", '{"tokens":{}}')}`,
      {},
      78,
      /role operator/,
    ],
    [
      "the token contains a space",
      () => "",
      { CORE_TOKEN: "two words" },
      EXIT.SETTINGS,
      /CORE_TOKEN may contain only .*no spaces/,
    ],
    ["the token is not ASCII", () => "", { CORE_TOKEN: "s3cret-tokén" }, EXIT.SETTINGS, ASCII],
    [
      "the token file is not ASCII",
      () => ` --token-file ${file("e", "“s3cret-tokén”")}`,
      {},
      EXIT.SETTINGS,
      ASCII,
    ],
    [
      "the token is unknown to core",
      () => "",
      { CORE_TOKEN: "other-token" },
      EXIT.TOKEN,
      /rejects the token/,
    ],
    [
      "the token has the role game, not operator",
      () => "",
      { CORE_TOKEN: game },
      EXIT.TOKEN,
      /role operator/,
    ],
  ])(
    "the command fails if %s, and its error contains no token",
    async (_what, args, environment, wanted, words) => {
      const { code, stdout, stderr } = await run(args(), environment);
      expect([code, stdout]).toEqual([wanted, ""]);
      expect(stderr).toMatch(words);
      for (const token of [...Object.values(TOKENS), "two words", "s3cret", "other-token"]) {
        expect(stderr).not.toContain(token);
      }
    },
  );
});

test.each<[string, string, RegExp]>([
  ["an unknown command", "workspace lst", /Did you mean list/],
  ["an unknown option", `${LIST} --limt 1`, /Did you mean --limit/],
  ["a missing argument", "workspace show", /missing required argument 'workspace'/],
  ["an extra argument", `${LIST} all`, /too many arguments/],
  ["a limit of 0", `${LIST} --limit 0`, /number of at least 1/],
  ["set-url without a URL or --clear", "workspace set-url w", /--clear/],
  ["update without a change", "workspace update w", /--name/],
])("%s leads to exit code 64", async (_what, args, words) => {
  const { code, stdout, stderr } = await runCli(args, { corePort: service.core.port });
  expect([code, stdout]).toEqual([EXIT.USAGE, ""]);
  expect(stderr).toMatch(words);
});

test("an invalid core address is reported as a faulty setting", async () => {
  const { code, stderr } = await runCli(`${LIST} --core http://core.example`);
  expect([code, stderr]).toEqual([EXIT.SETTINGS, expect.stringContaining("CORE_ADDRESS")]);
});

test("if core is down or does not serve TLS, the error says that core is unavailable, and which settings to check", async () => {
  const ca = createTestCa();
  const environment = { CORE_TLS_CA: ca.certPath };
  const [down, noTls] = [{ corePort: await freePort() }, { corePort: service.core.port, environment }];
  const runs = await Promise.all([down, noTls].map((options) => startCliProcess(LIST, options).ended));
  ca.close();
  for (const { code, stderr } of runs) {
    expect(code).toBe(EXIT.OUT_OF_REACH);
    expect(stderr).toMatch(/unavailable .*CORE_ADDRESS or --core, and CORE_TLS_CA/);
  }
});

test("if core is down, only the errors of commands that change something say that a change may have been made", async () => {
  const corePort = await freePort();
  const id = "0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11";
  const reads = ["workspace list", `workspace show ${id}`, "workspace keys", `changes ${id}`, `failed ${id}`];
  const streams = [`tail deliveries ${id}`, "tail events", "groups list"];
  const changes = ["workspace re-encrypt", `workspace disconnect ${id}`, `send-test ${id}`];
  const said = async (args: string) => {
    const role = args === "tail events" ? "game" : "operator";
    const { code, stderr } = await runCli(args, { corePort, role });
    expect([code, stderr]).toEqual([EXIT.OUT_OF_REACH, expect.stringContaining("is unavailable")]);
    return stderr.includes("the change may or may not have been made");
  };
  for (const args of [...reads, ...streams]) expect([args, await said(args)]).toEqual([args, false]);
  for (const args of changes) expect([args, await said(args)]).toEqual([args, true]);
});

test("errors are in colour only on a terminal or with FORCE_COLOR", async () => {
  const corePort = await freePort();
  const said = async (args: string, environment: Record<string, string>) =>
    (await startCliProcess(args, { corePort, environment }).ended).stderr;
  expect(await said(LIST, { FORCE_COLOR: "1" })).toContain(`${coloured("bad", "chat-bridge:")} core at `);
  expect(await said("--limt", { FORCE_COLOR: "1" })).toContain(`${coloured("bad", "error:")} unknown option`);
  expect(await said(LIST, { NO_COLOR: "1" })).toMatch(/^chat-bridge: core at /);
});

test("without arguments, the command prints its usage; Ctrl-C aborts a call that is not answered", async () => {
  const silent = await startSilentServer();
  const [usage, call] = [startCliProcess([]), startCliProcess(LIST, { corePort: silent.port })];
  await silent.connected;
  call.interrupt();
  expect((await call.ended).code).toBe(EXIT.INTERRUPTED);
  silent.close();
  const { code, stdout, stderr } = await usage.ended;
  expect([code, stdout, stderr]).toEqual([EXIT.USAGE, "", expect.stringContaining("Usage: chat-bridge")]);
});

// time: ordering
test("`tail deliveries` continues after a restart of core, and prints that it is reconnecting", async () => {
  const corePort = await freePort();
  const core = { CORE_LISTEN: `127.0.0.1:${corePort}` };
  const own = await startService({ core });
  const workspace = await own.workspaces.make();
  const tail = startCli(`tail deliveries ${workspace.id}`, { corePort });
  await until("health is shown", () => tail.lines().some((line) => line.includes("last poll")));
  await own.core.stop();
  await until("tail prints that it is reconnecting", () => tail.stderr().includes("reconnecting"));
  const second = await startCore(own.redis.url, core);
  // Core can still be unavailable during the first polls.
  await until("a poll is shown", async () => {
    const { status } = await poll(own.url, workspace);
    return status === 200 && tail.lines().some((line) => / poll +success/.test(line));
  });
  tail.interrupt();
  expect((await tail.ended).code).toBe(EXIT.DONE);
  await second.stop();
  await own.close();
});
