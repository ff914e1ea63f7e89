import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { docBlocks, docProgram } from "../harness/doc-blocks";
import { startFakeCore, type FakeCore } from "../harness/fake-core";
import { testFolder } from "../harness/folder";
import { startProgram } from "../harness/program";
import { endRoundInSecondProcess, giveUpAnEvent, playWithFaults, type WordGame } from "../harness/word-game";
import { findGo, goEnvironment } from "../programs/go";

const PAGE = "docs/games/go.md";
const ROOT = join(__dirname, "../..");
/** Timeout of a test, ms. The first compilation takes a long time. */
const COMPILE_MS = 900_000;

const folder = join(testFolder(), "game");
let core: FakeCore;
let env: NodeJS.ProcessEnv;

/** Follows the page in an empty folder. */
beforeAll(async () => {
  mkdirSync(folder);
  cpSync(join(ROOT, "proto/chatbridge"), join(folder, "proto/chatbridge"), { recursive: true });
  writeFileSync(join(folder, "buf.gen.yaml"), docProgram(PAGE, "yaml", "buf.gen.yaml"));
  const files = ["word.go", "run.go", "word_test.go"];
  for (const file of files) writeFileSync(join(folder, file), docProgram(PAGE, "go", file));
  env = goEnvironment(await findGo());
  const commands = docBlocks(PAGE, "sh").find((block) => block.includes("go build")) ?? "";
  execFileSync("sh", ["-e", "-c", commands], { cwd: folder, env, stdio: "pipe" });
  core = await startFakeCore();
}, COMPILE_MS);
afterAll(() => core.stop());

const start =
  (program: string): WordGame["start"] =>
  (store, roundSeconds) =>
    startProgram([join(folder, program)], {
      cwd: folder,
      environment: {
        CORE_ADDRESS: core.grpc,
        CORE_TOKEN: "any",
        GAME_STORE: store,
        ROUND_TIME: `${roundSeconds}s`,
      },
    });
const game = (program = "word"): WordGame => ({ name: "word-go", core, start: start(program) });

test(
  "the page's Go code has the standard format, no suspicious constructs, and its test passes",
  () => {
    expect(execFileSync("go", ["fmt", "."], { cwd: folder, env, encoding: "utf8" })).toBe("");
    execFileSync("go", ["vet", "."], { cwd: folder, env, stdio: "pipe" });
    const environment = { ...env, CORE_ADDRESS: core.grpc, FAKE_CORE: core.url };
    execFileSync("go", ["test", "-count=1", "."], { cwd: folder, env: environment, stdio: "pipe" });
  },
  COMPILE_MS,
);

test("the page's Go game loses and doubles nothing in outages and crashes", async () => {
  await playWithFaults(game());
});

test("the page's Go game ends a round once, in one of the processes that follow a crash", async () => {
  await endRoundInSecondProcess(game());
});

test(
  "the page's Go game gives back an event that it cannot handle, and then gives it up",
  async () => {
    const path = join(folder, "word.go");
    const code = readFileSync(path, "utf8");
    const failing = '\tif event.GetMessage().GetText() == "boom" {\n\t\tpanic("boom is a bug")\n\t}\n';
    const [head = "", rest = ""] = code.split(/(?<=^func onEvent.*\n)/m);
    writeFileSync(path, head + failing + rest);
    execFileSync("go", ["build", "-o", "word-failing"], { cwd: folder, env, stdio: "pipe" });
    writeFileSync(path, code);
    await giveUpAnEvent(game("word-failing"));
  },
  COMPILE_MS,
);

test("no line of the page's Go code is longer than 100 characters", () => {
  const lines = docBlocks(PAGE, "go").flatMap((block) => block.replaceAll("\t", "    ").split("\n"));
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
});
