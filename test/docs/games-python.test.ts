import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { docBlocks, docProgram } from "../harness/doc-blocks";
import { startFakeCore, type FakeCore } from "../harness/fake-core";
import { testFolder } from "../harness/folder";
import { startProgram } from "../harness/program";
import {
  endRoundInSecondProcess,
  giveUpAnEvent,
  guessWhileTheGameIsDown,
  keepsStateOfDisconnected,
  playWithFaults,
  survivesFailingStore,
  type WordGame,
} from "../harness/word-game";

const PAGE = "docs/games/python.md";
const ROOT = join(__dirname, "../..");
/** Timeout of a test, ms. The first installation takes a long time. */
const INSTALL_MS = 900_000;

const folder = join(testFolder(), "game");
let core: FakeCore;

/** Follows the instructions of the page in an empty folder. */
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
  (store, roundSeconds, aheadSeconds) =>
    startProgram(["venv/bin/python3", file], {
      cwd: folder,
      environment: {
        CORE_ADDRESS: core.grpc,
        CORE_TOKEN: "any",
        GAME_STORE: `${store}.sqlite`,
        ROUND_SECONDS: String(roundSeconds),
        CLOCK_AHEAD: String(aheadSeconds),
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
  expect(output).toContain("4 passed");
});

test("outages and crashes cause no lost and no duplicate messages in the page's Python game", async () => {
  await playWithFaults(game());
});

test("if the process of the page's Python game crashes, exactly one of two new processes ends the round", async () => {
  await endRoundInSecondProcess(game());
});

test("in the page's Python game, a guess in time wins even if the game was down when the round ended", async () => {
  await guessWhileTheGameIsDown(game());
});

test("the page's Python game continues after another process has locked the store for a while", async () => {
  const lock = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
`;
  await survivesFailingStore(game(), async (store) => {
    const holder = spawn(join(folder, "venv/bin/python3"), ["-c", lock, `${store}.sqlite`], { cwd: folder });
    await once(holder.stdout, "data");
    return async () => {
      const closed = once(holder, "close");
      holder.stdin.end();
      await closed;
    };
  });
});

test("the page's Python game keeps the state of a disconnected workspace", async () => {
  await keepsStateOfDisconnected(game());
});

test("without a token, the page's Python game says what to do", () => {
  const program = join(folder, "venv/bin/python3");
  const { status, stderr } = spawnSync(program, ["word.py"], { cwd: folder, env: {}, encoding: "utf8" });
  expect({ status, stderr }).toMatchObject({ status: 1 });
  expect(stderr).toContain("CORE_TOKEN is not set: give a token of the role game");
});

test("the page's Python game escapes names, remembers several questions, and rejects an empty message", () => {
  const check = String.raw`
from types import SimpleNamespace as User
import word, game_run
name = lambda text: word.display_name(User(id="u1", name=text))
assert name("A*\u202e b") == "A\\* b", name("A*\u202e b")
assert name("") == "u1"
assert name("\u200b") == name("\u3164") == name("\u0301") == "\\(no name\\)"
assert name("\u05d0") == "\u2068\u05d0\u2069"
document = {"state": word.Word().new_state(), "outbox": []}
for id in range(9):
    word.Word().ask(game_run.Turn(document, str(id), 0, "word"), "u1", "room", "?")
assert list(document["state"]["asked"]) == ["4", "5", "6", "7", "8"]
document["state"]["asked"]["5"]["id"] = "m5"
turn = game_run.Turn(document, "9", 0, "word")
word.Word().answer(turn, "u1", User(text="tiger", reply_to="m5"))
assert list(document["state"]["asked"]) == ["4", "6", "7", "8"] and document["state"]["rounds"]
try:
    turn.publish({"message_create": {"channel": "room", "message": {"text": " "}}})
except ValueError:
    print("fine")
`;
  const program = join(folder, "venv/bin/python3");
  expect(execFileSync(program, ["-c", check], { cwd: folder, encoding: "utf8" })).toBe("fine\n");
});

test("the page's Python game nacks an event that it cannot handle, and finally reports a dead letter", async () => {
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
