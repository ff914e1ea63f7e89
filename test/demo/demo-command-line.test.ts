import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { freePort, TOKENS } from "../harness/processes";
import { startProgram } from "../harness/program";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const LISTEN = { HEALTH_LISTEN: "127.0.0.1:0", PICTURES_LISTEN: "127.0.0.1:0" };
const mainOf = (program: string): string => join(__dirname, `../../dist/demo/${program}/main.js`);

/** Runs a demo program until it exits. The program's environment has only the settings in `LISTEN` and `env`. */
const run = (program: string, env: Record<string, string>) =>
  spawnSync(process.execPath, [mainOf(program)], { env: { ...LISTEN, ...env }, encoding: "utf8" });

test.each([
  [
    "chat",
    {
      BASE_URL: "nowhere",
      CHAT_LISTEN: "8083",
      PUSH_TLS_KEY: "/nowhere/else",
      IMAGE_SOURCES: "*; script-src *",
    },
    ["WORKSPACE_ID", "SIGNING_SECRET"],
  ],
  [
    "game",
    {
      CORE_ADDRESS: "nowhere",
      ROUNDS: "0",
      QUESTION_SECONDS: "61",
      GAME_NAME: "a name",
      GAMES: "dice,Dice!",
      FOLLOW_GROUP: "a group",
      PICTURES_URL: "p",
    },
    ["CORE_TOKEN"],
  ],
])("the %s reports all faulty settings by name, but not their values", (program, faulty, missing) => {
  const { status, stderr } = run(program, faulty);
  expect(status).toBe(78);
  for (const name of [...Object.keys(faulty), ...missing])
    expect(stderr).toMatch(new RegExp(`^ {2}- ${name} `, "m"));
  expect(stderr).not.toContain("nowhere");
});

test.each([
  ["an unknown token", "no-such-token-anywhere"],
  ["a token with another role", TOKENS.edge],
])("the game reports %s as the reason why it cannot start, and exits with 1", (_name, token) => {
  const { status, stderr } = run("game", {
    CORE_ADDRESS: `127.0.0.1:${service.core.port}`,
    CORE_TOKEN: token,
  });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^cannot start: core rejects this game; check that CORE_TOKEN has the role game:/);
  expect(stderr).not.toContain(token);
});

test("the game keeps retrying while core is unreachable, and exits with 0 on SIGTERM", async () => {
  const settings = { CORE_ADDRESS: `127.0.0.1:${await freePort()}`, CORE_TOKEN: TOKENS.game };
  const game = startProgram([process.execPath, mainOf("game")], {
    cwd: __dirname,
    environment: { ...LISTEN, ...settings },
  });
  await until("two attempts", () => game.output().split("not following, retrying").length > 2);
  expect(game.output()).not.toContain("is ready");
  expect(await game.stop()).toBe(0);
});
