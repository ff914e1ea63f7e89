import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { PROGRAM } from "../harness/cli";
import { docBlocks, docProgram } from "../harness/doc-blocks";
import { freePort } from "../harness/processes";
import { playDice, startFakeCore, type FakeCore } from "../harness/fake-core";

const run = promisify(execFile);
const ROOT = join(__dirname, "../..");
const PAGE = "docs/fake-core.md";
const text = readFileSync(join(ROOT, PAGE), "utf8");

let core: FakeCore;
beforeAll(async () => {
  core = await startFakeCore();
  await playDice(core);
});
afterAll(async () => {
  await core.stop();
});

test("the curl commands in docs/fake-core.md play a game", async () => {
  const block = docBlocks(PAGE, "sh").find((each) => each.includes("/members/")) ?? "";
  const { stdout } = await run("sh", ["-e", "-c", block.replace("http://127.0.0.1:50062", core.url)]);
  expect(stdout).toContain('"text":"**Ada** throws a 4"');
  expect(stdout).toContain('"groups":[{"group":"dice","streams":1}]');
});

test("the Python test in docs/fake-core.md passes", async () => {
  await playDice(core);
  const program = docProgram(PAGE, "python", "test_dice.py");
  await run("python3", ["-c", program], { env: { PATH: process.env["PATH"], FAKE_CORE: core.url } });
});

test("the commands for scripts in docs/fake-core.md start and stop the fake core", async () => {
  const block = docBlocks(PAGE, "sh").find((each) => each.includes("kill $core")) ?? "";
  // Other programs on this machine may use the ports that the page names.
  const [listen, http] = [await freePort(), await freePort()];
  const script = block
    .replace("--strict", `--strict --listen 127.0.0.1:${listen} --http 127.0.0.1:${http}`)
    .replace(":50062", `:${http}`);
  const { stdout } = await run("bash", ["-e", "-c", script], { cwd: ROOT });
  expect(stdout).toContain("Report: the game broke no rule.");
});

test("docs/fake-core.md lists all calls, options, commands and codes of the fake core", async () => {
  const { json } = await core.control("GET", "/nothing");
  const calls = String(json["error"]).split("use one of ")[1] ?? "";
  const served = calls.split(", ").map((call) => call.replaceAll(/:(\w+)/g, "{$1}"));
  expect(served.length).toBeGreaterThan(15);
  for (const call of served) expect(text).toContain(`\`${call}\``);

  const command = PROGRAM.commands.find((each) => each.name() === "fake-core");
  const options = command?.options.map(({ long }) => long) ?? [];
  expect(options).toContain("--strict");
  for (const option of options) expect(text).toMatch(new RegExp(`^\\| \`${option}\\b`, "m"));

  core.type("help");
  await core.says("help, quit");
  const rows = core.lines
    .flatMap((line) => /^ {2}(\w+)/.exec(line)?.[1] ?? [])
    .filter((word) => word !== "ada");
  expect(rows).toContain("redeliver");
  for (const word of rows.filter((each) => each !== "help"))
    expect(text).toMatch(new RegExp(`^\\|.*\`${word}\\b`, "m"));

  const rules = readFileSync(join(ROOT, "kit/game/testing/findings.ts"), "utf8");
  const codes = [...rules.matchAll(/^ {2}"?([a-z-]+)"?: \{/gm)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(15);
  for (const code of codes) expect(text).toContain(`\`${code}\``);
});

test("a client that knows no protos can call the fake core by reflection", async () => {
  const buf = join(ROOT, "node_modules/.bin/buf");
  const transport = ["--protocol", "grpc", "--http2-prior-knowledge", "--reflect"];
  const header = ["--reflect-header", "authorization: Bearer any", "-H", "authorization: Bearer any"];
  const workspaceId = "00000000-0000-4000-8000-0000000000ff";
  const message = { kind: "MESSAGE_KIND_CARD", text: "hi", data: { a: [1, { b: null }] } };
  const event = JSON.stringify({ events: [{ workspaceId, messageCreate: { channel: "room", message } }] });
  const url = `http://${core.grpc}/chatbridge.v1.GameService/PublishEvents`;
  const { stdout } = await run(buf, ["curl", ...transport, ...header, "-d", event, url], { cwd: "/" });
  expect(JSON.parse(stdout)).toMatchObject({
    results: [{ refused: { reason: "PUBLISH_REFUSAL_UNKNOWN_WORKSPACE" } }],
  });
});
