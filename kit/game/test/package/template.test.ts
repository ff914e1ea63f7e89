import { execFileSync } from "node:child_process";
import { cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { openChat } from "../../../../test/harness/game-chat";
import { TOKENS } from "../../../../test/harness/processes";
import { startProgram } from "../../../../test/harness/program";
import { sharedService } from "../../../../test/harness/shared-service";
import { until } from "../../../../test/harness/wait";
import { packedGameKit } from "../harness/game-kit-package";

const PROJECT = join(__dirname, "../../../..");
const service = sharedService();
const kit = packedGameKit();
const folder = join(kit.folder, "my-game");

beforeAll(() => {
  cpSync(join(kit.installed, "template"), folder, { recursive: true });
  symlinkSync(join(PROJECT, "node_modules/@types"), join(kit.folder, "node_modules/@types"));
  execFileSync(join(PROJECT, "node_modules/.bin/tsc"), ["-p", folder]);
});

test("the test in a copy of the template passes", () => {
  const output = execFileSync("sh", ["-c", "node --test dist/test/*.test.js"], {
    cwd: folder,
    encoding: "utf8",
  });
  expect(output).toContain("# pass 2");
});

/** Starts a copy of the template. Resolves when the game follows events. */
async function startCopy() {
  const program = startProgram([process.execPath, "dist/src/main.js"], {
    cwd: folder,
    environment: {
      CORE_TOKEN: TOKENS.game,
      CORE_ADDRESS: `127.0.0.1:${service.core.port}`,
      GAMES: "trivia,word",
      GAME_STORE: "./state",
    },
  });
  await until("the game follows", () => program.output().includes("word is ready"));
  return program;
}

test("a copy of the template works with the service, and continues after the game was killed", async () => {
  const killed = await startCopy();
  const chat = openChat(service.url, await service.workspaces.make());
  await chat.command("ann", "word start");
  const asked = await chat.sees("dm.create", "card", { user: "ann" });
  await chat.types("ann", "Tiger", { channel: "dm:ann", replyTo: asked.message.id });
  const shown = await chat.sees("message.create", "card", { channel: "c1" });
  expect(shown.message.text).toBe("Which word is **t····**?");
  await chat.press("bob", shown, "Hint");
  const hinted = await chat.sees("message.update", "card");
  expect(hinted.message.text).toBe("Which word is **ti···**?");
  await killed.stop("SIGKILL");
  const next = await startCopy();
  await chat.types("bob", "tiger", {});
  const ended = await chat.sees("message.update", "game_end");
  expect(ended.message).toMatchObject({ text: "**\\*bob\\*** knew it: **tiger**", buttons: [] });
  expect(await next.stop()).toBe(0);
});
