import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EXIT } from "../../cli/exit-code";
import { runCli, startCli } from "../harness/cli";
import { freePort, startCore, TOKENS, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { createTestCa, type TestCa } from "../harness/test-ca";

jest.setTimeout(120_000);

let redis: TestRedis;
let core: TestProcess;
let ca: TestCa;
let silent: Server;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "cli-"));
  redis = await startTestRedis();
  core = await startCore(redis.url);
  ca = createTestCa();
  // It takes connections and says nothing.
  silent = createServer().listen(0, "127.0.0.1");
});
afterAll(async () => {
  silent.close();
  ca.close();
  await core.stop();
  await redis.close();
  rmSync(folder, { recursive: true });
});

const LIST = ["workspace", "list"] as const;

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe("the token", () => {
  const others = { role: "nobody" } as const;

  test.each<[string, () => { args?: readonly string[]; environment?: Record<string, string> }]>([
    ["CORE_TOKEN", () => ({ environment: { CORE_TOKEN: TOKENS.operator } })],
    [
      "a file that --token-file names",
      () => ({ args: ["--token-file", file("token", `${TOKENS.operator}\n`)] }),
    ],
    [
      "a file that CORE_TOKEN_FILE names",
      () => ({ environment: { CORE_TOKEN_FILE: file("token2", TOKENS.operator) } }),
    ],
    [
      "what npm start keeps, by the role that is needed",
      () => ({ environment: { CORE_TOKEN_FILE: file("settings.json", JSON.stringify({ tokens: TOKENS })) } }),
    ],
    [
      "--token-file before CORE_TOKEN",
      () => ({
        args: ["--token-file", file("token3", TOKENS.operator)],
        environment: { CORE_TOKEN: TOKENS.game },
      }),
    ],
  ])("is taken from %s", async (_what, given) => {
    const { args = [], environment = {} } = given();
    const run = await runCli([...LIST, ...args], { ...others, corePort: core.port, environment });
    expect([run.code, run.stderr]).toEqual([EXIT.DONE, ""]);
  });

  test.each<[string, () => readonly string[], Record<string, string>, number, RegExp]>([
    [
      "none",
      () => [],
      {},
      EXIT.SETTINGS,
      /CORE_TOKEN is missing.*operator.*--token-file.*never an argument/s,
    ],
    [
      "one as an argument",
      () => ["--token", TOKENS.operator],
      {},
      EXIT.USAGE,
      /never an argument.*CORE_TOKEN/,
    ],
    ["a file that is not there", () => ["--token-file", join(folder, "none")], {}, EXIT.SETTINGS, /ENOENT/],
    [
      "a file without one of the role",
      () => ["--token-file", file("a.json", '{"tokens":{}}')],
      {},
      EXIT.SETTINGS,
      /role operator/,
    ],
    [
      "one with blanks",
      () => [],
      { CORE_TOKEN: "two words" },
      EXIT.SETTINGS,
      /CORE_TOKEN may only have .*no blanks/,
    ],
    [
      "one that is not ASCII",
      () => [],
      { CORE_TOKEN: "s3cret-tokén" },
      EXIT.SETTINGS,
      /CORE_TOKEN may only have .*ASCII/,
    ],
    [
      "a file of one that is not ASCII",
      () => ["--token-file", file("quoted", "“s3cret-tokén”")],
      {},
      EXIT.SETTINGS,
      /CORE_TOKEN may only have .*ASCII/,
    ],
    [
      "one that core does not know",
      () => [],
      { CORE_TOKEN: "some-other-token" },
      EXIT.TOKEN,
      /does not know the token/,
    ],
    ["one of another role", () => [], { CORE_TOKEN: TOKENS.game }, EXIT.TOKEN, /role operator/],
  ])(
    "is asked for where there is %s, and never repeated",
    async (_what, args, environment, wanted, words) => {
      const run = await runCli([...LIST, ...args()], { ...others, corePort: core.port, environment });
      expect([run.code, run.stdout]).toEqual([wanted, ""]);
      expect(run.stderr).toMatch(words);
      for (const token of [...Object.values(TOKENS), "two words", "s3cret", "some-other-token"]) {
        expect(run.stderr).not.toContain(token);
      }
    },
  );
});

test.each<[string, readonly string[], RegExp]>([
  ["a command that there is not", ["workspace", "lst"], /Did you mean list/],
  ["an option that there is not", [...LIST, "--limt", "1"], /Did you mean --limit/],
  ["a missing argument", ["workspace", "show"], /missing required argument 'workspace'/],
  ["one argument too many", [...LIST, "all"], /too many arguments/],
  ["a limit that is none", [...LIST, "--limit", "0"], /number from 1 on/],
  ["neither a URL nor --clear", ["workspace", "set-url", "w"], /--clear/],
  ["nothing to update", ["workspace", "update", "w"], /--name/],
  ["nothing", [], /Usage: chat-bridge/],
])("%s is told of with exit code 64", async (_what, args, words) => {
  const { code, stdout, stderr } = await runCli(args, { corePort: core.port });
  expect([code, stdout]).toEqual([EXIT.USAGE, ""]);
  expect(stderr).toMatch(words);
});

test("an address that is none is told of as a setting", async () => {
  const { code, stderr } = await runCli([...LIST, "--core", "http://core.example"]);
  expect([code, stderr]).toEqual([EXIT.SETTINGS, expect.stringContaining("CORE_ADDRESS") as string]);
});

test.each<[string, () => Promise<number> | number, () => Record<string, string>]>([
  ["where nobody listens", () => freePort(), () => ({})],
  ["that does not speak TLS where we do", () => core.port, () => ({ CORE_TLS_CA: ca.certPath })],
])("a core %s is out of reach, and it is said what to check", async (_what, port, environment) => {
  const { code, stderr } = await runCli(LIST, { corePort: await port(), environment: environment() });
  expect(code).toBe(EXIT.OUT_OF_REACH);
  expect(stderr).toMatch(/out of reach .*CORE_ADDRESS or --core, CORE_TLS_CA/);
});

test("Ctrl-C ends a call that has no answer", async () => {
  const { port } = silent.address() as AddressInfo;
  const connected = new Promise((resolve) => silent.once("connection", resolve));
  const { child, ended } = startCli(LIST, { corePort: port });
  await connected;
  child.kill("SIGINT");
  expect((await ended).code).toBe(EXIT.INTERRUPTED);
});
