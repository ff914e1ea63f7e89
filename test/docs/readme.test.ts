import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packedKit } from "../../kit/test/harness/kit-package";
import { packedGameKit } from "../../kit/game/test/harness/game-kit-package";
import { ROOT } from "../harness/compose-file";
import { startConsumer, type Consumer } from "../harness/consumer";
import { docBlocks } from "../harness/doc-blocks";
import { openChat } from "../harness/game-chat";
import { TOKENS } from "../harness/processes";
import { startProgram } from "../harness/program";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const README = readFileSync(join(ROOT, "README.md"), "utf8");
const [BRIDGE = "", GAME = ""] = docBlocks("README.md", "ts");
const service = sharedService();
const { folder } = packedGameKit();
const kit = packedKit();
let consumer: Consumer;

/** Compiles both programs of the README, as printed, in a folder with both kits. */
beforeAll(async () => {
  symlinkSync(join(kit.folder, "node_modules/chat-bridge-kit"), join(folder, "node_modules/chat-bridge-kit"));
  mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules/@types/node"), join(folder, "node_modules/@types/node"));
  writeFileSync(join(folder, "bridge.mts"), BRIDGE);
  writeFileSync(join(folder, "dice.mts"), GAME);
  const strict = "--strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess";
  const options = `--types node --module nodenext --target es2022 ${strict} bridge.mts dice.mts`;
  execFileSync(join(ROOT, "node_modules/.bin/tsc"), options.split(" "), { cwd: folder, stdio: "pipe" });
  consumer = await startConsumer(service.clients.games, { group: "readme" }).opened();
  consumer.ackAll();
});
afterAll(() => consumer.cancel());

test("the README's bridge shows what a game publishes, and reports each typed line as a command", async () => {
  const { id, secret } = await service.workspaces.make();
  const environment = { BASE_URL: service.url, WORKSPACE_ID: id, SIGNING_SECRET: secret };
  const bridge = startProgram([process.execPath, "bridge.mjs"], { cwd: folder, environment });
  bridge.type("start");
  await until("the game receives the command", () =>
    consumer.seen.some(({ workspaceId, text }) => workspaceId === id && text === "start"),
  );
  await publish(service.clients, textEvent(id, "**Who** is in?"));
  await until("the bridge shows the message", () => bridge.output().includes("Who is in?\n"));
  await bridge.stop();
});

test("the README's game throws a die for a command, and again when its button is pressed", async () => {
  const environment = {
    CORE_ADDRESS: `127.0.0.1:${service.core.port}`,
    CORE_TOKEN: TOKENS.game,
    GAMES: "trivia,dice",
    FOLLOW_GROUP: `dice-readme-${process.pid}`,
  };
  const game = startProgram([process.execPath, "dice.mjs"], { cwd: folder, environment });
  await until("the game is ready", () => game.output().includes("dice is ready"));
  const chat = openChat(service.url, await service.workspaces.make());
  await chat.command("ann", "dice roll");
  const shown = await chat.sees("message.create", "card");
  expect(shown.message.text).toMatch(/^\*\*\S*ann\S*\*\* throws a [1-6]\.$/);
  await chat.press("ann", shown, "Again");
  await chat.sees("message.update", "card");
  expect(await game.stop()).toBe(0);
});

test("the README's bridge has twelve lines, its game has ten, and the game service guide shows the same game", () => {
  const linesOf = (code: string) =>
    code.split("\n").filter((line) => line !== "" && !line.startsWith("//")).length;
  expect([linesOf(BRIDGE), linesOf(GAME)]).toEqual([12, 10]);
  expect(docBlocks("docs/game-service-guide.md", "ts")[0]).toBe(GAME);
});

test("the service accepts the requests of the quick start exactly as the page prints them", async () => {
  const { id, secret } = await service.workspaces.make();
  const block = docBlocks("docs/quick-start.md", "sh").find((each) => each.includes("sign()")) ?? "";
  const script = block
    .replace("id=… secret=… token=…", `id=${id} secret=${secret} token=${TOKENS.game}`)
    .replaceAll("http://127.0.0.1:8080", service.url)
    .replaceAll("127.0.0.1:50051", `127.0.0.1:${service.core.port}`);
  expect(script).not.toContain("…");
  const printed = execFileSync("sh", ["-e", "-c", script], { cwd: ROOT, encoding: "utf8", stdio: "pipe" });
  expect(printed.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 202", "HTTP/1.1 200"]);
  expect(printed).toContain('"text":"Hello"');
});

test("the README has fewer than 900 words", () => {
  expect(README.split(/\s+/).length).toBeLessThan(900);
});

test("every measured figure of the README is in the results of the benchmark", () => {
  const results = readFileSync(join(ROOT, "bench/README.md"), "utf8");
  const figures = [...README.matchAll(/^\|.*?\| +(?:cost |p99 )?([\d., ]*\d)(?: ms| bytes)?.*?\|/gm)].map(
    ([, figure = ""]) => figure,
  );
  expect(figures.length).toBeGreaterThan(5);
  expect(figures.filter((figure) => !results.includes(figure))).toEqual([]);
});
