import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { docBlocks, docProgram } from "../harness/doc-blocks";
import { startFakeCore, WORKSPACE, type FakeCore } from "../harness/fake-core";
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
import { findGo, goEnvironment } from "../programs/go";

const PAGE = "docs/games/go.md";
const ROOT = join(__dirname, "../..");
/** Timeout of a test, ms. The first compilation takes a long time. */
const COMPILE_MS = 900_000;

const folder = join(testFolder(), "game");
let core: FakeCore;
let env: NodeJS.ProcessEnv;

/** Follows the instructions of the page in an empty folder. */
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
  (store, roundSeconds, aheadSeconds) =>
    startProgram([join(folder, program)], {
      cwd: folder,
      environment: {
        CORE_ADDRESS: core.grpc,
        CORE_TOKEN: "any",
        GAME_STORE: store,
        ROUND_TIME: `${roundSeconds}s`,
        CLOCK_AHEAD: `${aheadSeconds}s`,
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

test("outages and crashes cause no lost and no duplicate messages in the page's Go game", async () => {
  await playWithFaults(game());
});

test("if the process of the page's Go game crashes, exactly one of two new processes ends the round", async () => {
  await endRoundInSecondProcess(game());
});

test("in the page's Go game, a guess in time wins even if the game was down when the round ended", async () => {
  await guessWhileTheGameIsDown(game());
});

test("the page's Go game continues after a failure of the disk", async () => {
  await survivesFailingStore(game(), async (store) => {
    const path = join(folder, store, `${WORKSPACE}.json.new`);
    mkdirSync(path);
    return async () => rmdirSync(path);
  });
});

test("the page's Go game keeps the state of a disconnected workspace", async () => {
  await keepsStateOfDisconnected(game());
});

test("without a token, the page's Go game says what to do", () => {
  const { status, stderr } = spawnSync(join(folder, "word"), { cwd: folder, env: {}, encoding: "utf8" });
  expect({ status, stderr }).toMatchObject({ status: 1 });
  expect(stderr).toContain("CORE_TOKEN is not set: give a token of the role game");
});

test(
  "the page's Go game escapes names, remembers several questions, and rejects an empty message",
  () => {
    const check = String.raw`package main

import (
	"testing"

	pb "example.com/word/chatbridge/v1"
)

func TestUnits(t *testing.T) {
	for name, shown := range map[string]string{
		"A*\u202e b": "A\\* b", "": "u1", "\u200b": "\\(no name\\)", "\u3164": "\\(no name\\)",
		"\u0301": "\\(no name\\)", "\u05d0": "\u2068\u05d0\u2069",
	} {
		if found := displayName(&pb.User{Id: "u1", Name: &name}); found != shown {
			t.Errorf("%q: %q", name, found)
		}
	}
	turn := &turn{state: newState()}
	for _, id := range "012345678" {
		turn.id = string(id)
		ask(turn, "u1", "room", "?")
	}
	reply := "m5"
	turn.state.Asked[1].MessageID = reply
	answer(turn, "u1", &pb.TypedMessage{Text: "tiger", ReplyTo: &reply})
	if ids := turn.state.Asked; len(ids) != 4 || ids[0].ID != "4" || ids[1].ID != "6" {
		t.Error(ids)
	}
	if turn.state.Rounds["room"] == nil {
		t.Error("no round")
	}
	defer func() {
		if recover() == nil {
			t.Error("an empty message is accepted")
		}
	}()
	tell(turn, "u1", " ")
}
`;
    const path = join(folder, "units_test.go");
    writeFileSync(path, check);
    execFileSync("go", ["test", "-run", "TestUnits", "."], {
      cwd: folder,
      env: { ...env, FAKE_CORE: core.url },
      stdio: "pipe",
    });
    rmSync(path);
  },
  COMPILE_MS,
);

test(
  "the page's Go game nacks an event that it cannot handle, and finally reports a dead letter",
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
