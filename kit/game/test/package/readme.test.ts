import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
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

/** Writes the README's examples to files, and compiles them with strict options. */
beforeAll(() => {
  const files = [...kit.readme.matchAll(/^```ts\n\/\/ (\S+\.mts)\n(.*?)^```/gms)].map(
    ([, name = "", code = ""]) => {
      writeFileSync(join(kit.folder, name), code);
      return name;
    },
  );
  expect(files).toEqual(["dice.mts", "main.mts", "dice.test.mts"]);
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  const types = { types: ["node"], typeRoots: [join(PROJECT, "node_modules/@types")] };
  const compilerOptions = { module: "nodenext", target: "es2022", ...strict, ...types };
  writeFileSync(join(kit.folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  const tsc = join(PROJECT, "node_modules/.bin/tsc");
  const { status, stdout } = spawnSync(tsc, ["-p", kit.folder], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the README's examples do not compile:\n${stdout}`);
});

test("the package contains the kit's code, types, template, README and licence, and all exports can be imported", () => {
  const contents = ["LICENSE", "README.md", "dist", "package.json", "template"];
  expect(readdirSync(kit.installed).toSorted()).toEqual(contents);
  const files = readdirSync(join(kit.installed, "dist"), { recursive: true, encoding: "utf8" });
  expect(files.filter((path) => /(^|\/)(test|template)\/|\.map$/.test(path))).toEqual([]);
  for (const [entry, target] of Object.entries(kit.exports)) {
    if (typeof target === "string" || target.types === undefined) continue;
    expect([entry, existsSync(join(kit.installed, target.types))]).toEqual([entry, true]);
    const name = entry.replace(".", "chat-bridge-game");
    const script = `console.log(Object.keys(require("${name}")).length > 0)`;
    expect(execFileSync(process.execPath, ["-e", script], { cwd: kit.folder, encoding: "utf8" })).toBe(
      "true\n",
    );
    // TypeScript versions that ignore `exports` read `typesVersions`.
    if (entry !== ".") expect(kit.typesVersions["*"][entry.slice(2)]).toEqual([target.types]);
  }
});

test("the package names each package that it imports as a dependency", () => {
  const dist = join(kit.installed, "dist");
  const code = readdirSync(dist, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".js"))
    .map((path) => readFileSync(join(dist, path), "utf8"));
  const names = code.flatMap((text) =>
    [...text.matchAll(/require\("(?!\.|node:)((?:@[^/"]+\/)?[^/"]+)/g)].map(([, name = ""]) => name),
  );
  expect([...new Set(names)].toSorted()).toEqual(Object.keys(kit.dependencies).toSorted());
});

test("the test of the README's game passes", () => {
  const { status, stdout } = spawnSync(process.execPath, ["--test", "dice.test.mjs"], {
    cwd: kit.folder,
    encoding: "utf8",
    env: { PATH: process.env["PATH"] },
  });
  expect([status, stdout]).toEqual([0, expect.stringMatching(/pass 1$/m)]);
});

test("the README's game works with the real service, and keeps its state in a folder", async () => {
  const environment = {
    CORE_ADDRESS: `127.0.0.1:${service.core.port}`,
    CORE_TOKEN: TOKENS.game,
    GAME_STORE: "./state",
    FOLLOW_GROUP: `dice-${process.pid}`,
  };
  const game = startProgram([process.execPath, "main.mjs"], { cwd: kit.folder, environment });
  await until("the game is ready", () => game.output().includes("dice is ready"));
  const chat = openChat(service.url, await service.workspaces.make());
  await chat.command("ann", "roll");
  const shown = await chat.sees("message.create", "card");
  expect(shown.message.text).toMatch(/^\*\*\S*ann\S*\*\* throws [1-6]\.$/);
  await chat.press("ann", shown, "Again");
  await chat.sees("message.update", "card");
  expect(await game.stop()).toBe(0);
  expect(readdirSync(join(kit.folder, "state"))).not.toEqual([]);
});

test("the README lists all settings and no others, and contains no relative link", () => {
  const read = ["kit/game/settings.ts", "runtime/core-connection.ts"].map((path) =>
    readFileSync(join(PROJECT, path), "utf8"),
  );
  const form = /settings\.\w+\(\s*"([A-Z_]+)"/g;
  const known = new Set(read.flatMap((text) => [...text.matchAll(form)].map(([, name = ""]) => name)));
  const listed = [...kit.readme.matchAll(/^\| `([A-Z_]+)` /gm)].map(([, name]) => name);
  expect(new Set(listed)).toEqual(new Set(known));
  expect(kit.readme).not.toMatch(/\]\((?!https?:|#)/);
});
