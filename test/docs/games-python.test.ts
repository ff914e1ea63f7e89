import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { docBlocks, docProgram } from "../harness/doc-blocks";
import { startFakeCore, type FakeCore } from "../harness/fake-core";
import { testFolder } from "../harness/folder";
import { startProgram } from "../harness/program";
import { endRoundInSecondProcess, giveUpAnEvent, playWithFaults, type WordGame } from "../harness/word-game";

const PAGE = "docs/games/python.md";
const ROOT = join(__dirname, "../..");
/** Timeout of a test, ms. The first installation takes a long time. */
const INSTALL_MS = 900_000;

const folder = join(testFolder(), "game");
let core: FakeCore;

/** Follows the page in an empty folder. */
beforeAll(async () => {
  mkdirSync(folder);
  cpSync(join(ROOT, "proto/chatbridge"), join(folder, "proto/chatbridge"), { recursive: true });
  const commands = docBlocks(PAGE, "sh").find((block) => block.includes("python3 -m venv")) ?? "";
  execFileSync("sh", ["-e", "-c", commands], { cwd: folder, stdio: "pipe" });
  const files = ["word.py", "game_run.py", "test_word.py"];
  for (const file of files) writeFileSync(join(folder, file), docProgram(PAGE, "python", file));
  core = await startFakeCore();
}, INSTALL_MS);
afterAll(() => core.stop());

const start =
  (file: string): WordGame["start"] =>
  (store, roundSeconds) =>
    startProgram(["venv/bin/python3", file], {
      cwd: folder,
      environment: {
        CORE_ADDRESS: core.grpc,
        CORE_TOKEN: "any",
        GAME_STORE: `${store}.sqlite`,
        ROUND_SECONDS: String(roundSeconds),
      },
    });
const game = (file = "word.py"): WordGame => ({ name: "word-python", core, start: start(file) });

test("the page's test of the Python game passes", () => {
  const env = { ...process.env, CORE_ADDRESS: core.grpc, FAKE_CORE: core.url };
  const output = execFileSync(join(folder, "venv/bin/python3"), ["-m", "pytest", "-q"], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  expect(output).toContain("2 passed");
});

test("the page's Python game loses and doubles nothing in outages and crashes", async () => {
  await playWithFaults(game());
});

test("the page's Python game ends a round once, in one of the processes that follow a crash", async () => {
  await endRoundInSecondProcess(game());
});

test("the page's Python game gives back an event that it cannot handle, and then gives it up", async () => {
  const failing = `
import word
from game_run import GameRun

class Failing(word.Word):
    def on_event(self, turn, event):
        super().on_event(turn, event)
        if event.message.text == "boom":
            raise RuntimeError("boom is a bug")

GameRun(Failing()).run()
`;
  writeFileSync(join(folder, "failing.py"), failing);
  await giveUpAnEvent(game("failing.py"));
});

test("no line of the page's Python code is longer than 100 characters", () => {
  const lines = docBlocks(PAGE, "python").flatMap((block) => block.split("\n"));
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
});
