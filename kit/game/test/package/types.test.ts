import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installTypeScripts, TYPESCRIPTS } from "../../../../test/programs/npm";
import { packedGameKit } from "../harness/game-kit-package";

const PROJECT = join(__dirname, "../../../..");
const kit = packedGameKit();
const OWN = join(PROJECT, "node_modules/typescript/bin/tsc");
const COMPILERS = [...TYPESCRIPTS, "our release"].map((version) => ({ version }));
let paths: readonly string[];
beforeAll(async () => void (paths = [...(await installTypeScripts()), OWN]));

/** A game, its test, and the types of its link. */
const SOURCE = `
import { createGame, fileStore, link, md, type GameStore, type Json, type MessageRef, type Turn } from "chat-bridge-game";
import * as kit from "chat-bridge-game";
import * as testing from "chat-bridge-game/testing";

interface State { count: number; last?: MessageRef }
const game = createGame<State>({ name: "count", state: () => ({ count: 0 }) });
const up = game.action("up", (turn, by: number) => {
  turn.state.count += by;
  turn.update({ text: md\`now \${turn.state.count}\`, buttons: [[up("More", by), link("Help", "https://example.org")]] });
});
const isRow = (payload: unknown): payload is { row: number } => typeof payload === "object";
const move = game.action("move", (turn, payload: { row: number }) => turn.reply(String(payload.row)), { check: isRow });
const old = game.otherAction((turn) => turn.ephemeral(move("Again", { row: 1 }).label));
game.command("start", "starts", (turn, words) => {
  turn.state.last = turn.reply({ text: \`begin \${words.join(" ")}\`, buttons: [[up("More", 2)]] });
});
const count = (turn: Turn<State>): number => turn.state.count;
const store = (folder: string): GameStore => fileStore(folder);
const json: Json = { a: [1, "b", null] };
// @ts-expect-error: the check is for a payload of another type.
game.action("other", (turn, payload: number) => payload, { check: isRow });
// @ts-expect-error: the payload of the button is a number.
const wrong = () => up("More", "2");

const chat = testing.testGame(game);
const ada = chat.member("Ada");
void (async () => {
  await ada.types("/count start now");
  chat.room.shows("begin now");
  await ada.presses("More");
  chat.room.shows(/^now 2$/m);
  await chat.stop();
  console.log("played", typeof kit.startGame, typeof count, typeof store, typeof json, typeof wrong, typeof old);
})();
`;

const folderOf = ({ version }: { readonly version: string }, file = ""): string =>
  join(kit.folder, `${version.replace(" ", "-")}-${file}`);

/** Compiles files with the option `strict`. All files contain `SOURCE`. Returns the compiler's output. */
function compile(tsc: (typeof COMPILERS)[number], files: readonly string[], options: object): string {
  const folder = folderOf(tsc, files[0]);
  mkdirSync(folder, { recursive: true });
  for (const file of files) writeFileSync(join(folder, file), SOURCE);
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  const types = { types: ["node"], typeRoots: [join(PROJECT, "node_modules/@types")], lib: ["es2022"] };
  const compilerOptions = { ...strict, ...types, target: "es2022", esModuleInterop: true, ...options };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  const tscPath = paths[COMPILERS.indexOf(tsc)] ?? "";
  return spawnSync(process.execPath, [tscPath, "-p", folder], { encoding: "utf8" }).stdout;
}

function expectRuns(folder: string, compiled: readonly string[]): void {
  for (const name of compiled) {
    const printed = execFileSync(process.execPath, [join(folder, name)], { encoding: "utf8" });
    expect(printed).toBe("played function function function object function object\n");
  }
}

describe.each(COMPILERS)("with TypeScript $version", (tsc) => {
  test("the types are valid for an ES module and a CommonJS module of Node, and each compiled module runs", () => {
    const files = ["game.mts", "game.cts"];
    // The types of @bufbuild/protobuf need TypeScript 5.7.
    const skipLibCheck = tsc.version.startsWith("5.0.");
    expect(compile(tsc, files, { module: "nodenext", skipLibCheck })).toBe("");
    expectRuns(folderOf(tsc, files[0]), ["game.mjs", "game.cjs"]);
  });

  test("a classic CommonJS module can import the kit, and runs", () => {
    // TypeScript 7 no longer supports the module resolution of Node 10.
    const moduleResolution = /^[1-6]\./.test(tsc.version) ? "node10" : "bundler";
    expect(compile(tsc, ["game.ts"], { module: "commonjs", moduleResolution, skipLibCheck: true })).toBe("");
    expectRuns(folderOf(tsc, "game.ts"), ["game.js"]);
  });
});
