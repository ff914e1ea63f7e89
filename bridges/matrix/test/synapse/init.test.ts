import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { testFolder } from "../../../../test/harness/folder";
import { startGame } from "../../../../test/harness/game-chat";
import { sharedService } from "../../../../test/harness/shared-service";
import { until } from "../../../../test/harness/wait";
import {
  operatorOf,
  startInit,
  startInitInTerminal,
  startPrinted,
  visible,
} from "../../../common/test/init-run";
import { PASSWORD, SERVER_NAME, startSynapse, SYNAPSE_WITHIN_MS, type TestSynapse } from "../harness/synapse";

const service = sharedService();
const root = testFolder();
let synapse: TestSynapse;
beforeAll(async () => {
  synapse = await startSynapse();
}, SYNAPSE_WITHIN_MS);
afterAll(() => synapse?.close());

const newFolder = (): string => mkdtempSync(join(root, "init-"));
const settingsIn = (folder: string) => parseEnv(readFileSync(join(folder, "matrix.env"), "utf8"));

test("in a terminal, init logs in, checks the account, creates the workspace, and the printed line starts a bridge that plays", async () => {
  await synapse.account("games");
  const ann = await synapse.member("ann");
  const folder = newFolder();
  // The server name leads to a website, which gives the address of the homeserver.
  const site = createServer((request, response) => {
    const isWellKnown = request.url === "/.well-known/matrix/client";
    response.writeHead(isWellKnown ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(isWellKnown ? { "m.homeserver": { base_url: `${synapse.url}/` } } : {}));
  });
  await once(site.listen(0, "127.0.0.1"), "listening");
  const { port } = site.address() as AddressInfo;

  const { program, answer } = startInitInTerminal("matrix", folder, operatorOf(service));
  await answer("Create a new workspace on the service at", "");
  await answer("MATRIX_HOMESERVER", "http://127.0.0.1:1");
  await answer("no homeserver answers at http://127.0.0.1:1", `http://127.0.0.1:${port}`);
  // The user can correct answers: the first answers give an invalid token, the next a name and a password.
  await answer("MATRIX_USER", "-");
  await answer("MATRIX_ACCESS_TOKEN", "wrong");
  await answer("Change the answers and check again?", "");
  await answer("MATRIX_HOMESERVER", "");
  await answer("MATRIX_USER", "games");
  await answer("MATRIX_PASSWORD", PASSWORD);
  expect(await program.exited).toBe(0);
  site.close();
  const output = visible(program.output()).replaceAll("\r", "");
  expect(output).not.toContain(PASSWORD);
  expect(output).toContain(`  ok       logged in to ${synapse.url} as @games:${SERVER_NAME}\n`);
  expect(output).toContain("  ok       the account is an ordinary account\n");
  expect(output).toContain("  ok       the account may send messages as fast as a game needs\n");
  const settings = settingsIn(folder);
  expect(settings).toMatchObject({ MATRIX_HOMESERVER: synapse.url, MATRIX_USER: "games" });
  expect(settings).not.toHaveProperty("MATRIX_ACCESS_TOKEN");
  // The service is on this machine, and so are the images of its games.
  expect(settings).toMatchObject({ MATRIX_IMAGE_ALLOW: "127.0.0.0/8,::1/128" });
  expect(output).toContain("added MATRIX_IMAGE_ALLOW=127.0.0.0/8,::1/128");

  const game = await startGame(service.core.port, {
    ROUNDS: "1",
    QUESTION_SECONDS: "60",
    LOBBY_SECONDS: "60",
  });
  const bridge = startPrinted(folder, program);
  await until("the bridge is connected", () => bridge.output().includes("signed in to the homeserver"));
  const room = await ann.createRoom({}, `@games:${SERVER_NAME}`);
  await until("it joins", async () => (await ann.membershipOf(room, `@games:${SERVER_NAME}`)) === "join");
  await ann.say(room, "!play start");
  await ann.sees(room, "the game", ({ body }) => body.includes("ann opens a game"));
  expect(await bridge.stop()).toBe(0);
  await game.stop();
});

test("for an account with a rate limit, init names the limit and the commands that lift it, and leaves no session and no room", async () => {
  const limited = await startSynapse({ rc_message: { per_second: 0.2, burst_count: 10 } });
  try {
    const member = await limited.member("games");
    const workspace = await service.workspaces.make();
    const folder = newFolder();
    const password = join(folder, "password");
    writeFileSync(password, `${PASSWORD}\n`);
    const flags = [
      "--matrix-homeserver",
      limited.url,
      "--matrix-user",
      "games",
      "--matrix-password-file",
      password,
    ];
    const environment = {
      BASE_URL: service.url,
      WORKSPACE_ID: workspace.id,
      SIGNING_SECRET: workspace.secret,
    };
    const init = startInit("matrix", folder, flags, environment);
    expect(await init.exited).toBe(0);
    expect(init.output()).toMatch(
      /note {5}the homeserver accepts \d+ messages at once, then 0\.\d in each second/,
    );
    expect(init.output()).toContain(
      `${limited.url}/_synapse/admin/v1/users/%40games%3Achat.test/override_ratelimit'`,
    );
    expect(init.output()).toContain(`'${limited.url}/_matrix/client/v3/login'`);
    expect(settingsIn(folder)).toMatchObject({ MATRIX_PASSWORD_FILE: password });
    const { devices } = await member.call<{ devices: readonly unknown[] }>("GET", "devices");
    expect(devices).toHaveLength(1);
    expect(await member.call("GET", "joined_rooms")).toEqual({ joined_rooms: [] });
  } finally {
    await limited.close();
  }
});

test.each([
  [
    "a wrong password",
    { MATRIX_USER: "nobody", MATRIX_PASSWORD: "wrong" },
    "check MATRIX_USER and MATRIX_PASSWORD",
  ],
  ["a wrong token", { MATRIX_ACCESS_TOKEN: "wrong" }, "check MATRIX_ACCESS_TOKEN"],
])("init says what to do about %s, and creates no workspace", async (_what, account, advice) => {
  const count = async () => (await service.workspaces.list()).workspaces.length;
  const before = await count();
  const folder = newFolder();
  const environment = { ...operatorOf(service), MATRIX_HOMESERVER: synapse.url, ...account };
  const init = startInit("matrix", folder, [], environment);
  expect(await init.exited).toBe(1);
  expect(init.output()).toContain(advice);
  expect(init.output()).toContain("Nothing was written.");
  expect(await count()).toBe(before);
});
