import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { testFolder } from "../../../test/harness/folder";
import { startGame } from "../../../test/harness/game-chat";
import { sharedService } from "../../../test/harness/shared-service";
import { until } from "../../../test/harness/wait";
import { fact, NO_DEMO, start, stop } from "../../../test/local/npm-start";
import {
  operatorOf,
  startInit,
  startInitInTerminal,
  startPrinted,
  visible,
} from "../../common/test/init-run";
import { joinIrc } from "./harness/irc-member";
import { startNgircd, type IrcServer } from "./harness/irc-server";

const service = sharedService();
const root = testFolder();
let server: IrcServer;
beforeAll(async () => {
  server = await startNgircd(root);
});
afterAll(() => server?.stop("SIGKILL"));

const newFolder = (): string => mkdtempSync(join(root, "init-"));
const serverFlags = (): readonly string[] => [
  "--irc-host",
  server.host,
  "--irc-port",
  String(server.port),
  "--irc-tls=off",
];
const settingsIn = (file: string) => parseEnv(readFileSync(file, "utf8"));

test("without a terminal, init creates the workspace and a private settings file, and prints a line that starts a working bridge", async () => {
  const folder = newFolder();
  const flags = [...serverFlags(), "--irc-channels", "games, #other", "--irc-nick", "trivia"];
  const init = startInit("irc", folder, flags, operatorOf(service));
  expect([await init.exited, init.output()]).toEqual([
    0,
    expect.stringContaining("created the workspace") as string,
  ]);
  expect(init.output()).toMatch(
    /ok {7}joined #games, and may speak\n {2}ok {7}joined #other, and may speak\n/,
  );
  expect(init.output()).toContain("accepts signed polls");
  const file = join(folder, "irc.env");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const settings = settingsIn(file);
  expect(settings).toMatchObject({
    IRC_CHANNELS: "games, #other",
    IRC_NICK: "trivia",
    BASE_URL: service.url,
  });
  expect(init.output()).not.toContain(settings["SIGNING_SECRET"]);

  const game = await startGame(service.core.port, {
    ROUNDS: "1",
    QUESTION_SECONDS: "60",
    LOBBY_SECONDS: "60",
  });
  const bridge = startPrinted(folder, init);
  await until("the bridge has joined", () => bridge.output().includes("joined a channel"));
  const ann = await joinIrc(server, "Ann", "#games");
  await until("the bridge is connected", () => bridge.output().includes("connected to the service"));
  ann.say("!play start");
  await ann.sees("Ann opens a game");
  ann.leave();
  expect(await bridge.stop()).toBe(0);
  await game.stop();
});

test("init finds the service of npm start even if it uses other ports than the default", async () => {
  const run = await start({ env: NO_DEMO });
  const page = await run.ready();
  const kept = join(run.folder, "settings.json");
  for (const environment of [{ DATA_DIR: run.folder }, { CORE_TOKEN_FILE: kept }]) {
    const folder = newFolder();
    const init = startInit("irc", folder, [...serverFlags(), "--irc-channels=games"], environment);
    expect([await init.exited, init.output()]).toEqual([0, expect.stringContaining("created the workspace")]);
    expect(settingsIn(join(folder, "irc.env"))["BASE_URL"]).toBe(fact(page, "edge").split(" ")[0]);
  }
  await stop(run);
  const later = startInit("irc", newFolder(), [], { DATA_DIR: run.folder });
  expect(await later.exited).toBe(78);
  expect(later.output()).toMatch(
    new RegExp(
      `init found no service .* core at ${fact(page, "core").split(" ")[0]} with the token in ${kept}`,
    ),
  );
  expect(later.output()).toContain("set CORE_ADDRESS, CORE_TOKEN_FILE and BASE_URL");
});

test("init does not guess the BASE_URL of another service, and checks a given BASE_URL before it creates a workspace", async () => {
  const flags = [...serverFlags(), "--irc-channels=games"];
  const { BASE_URL: _url, ...operator } = operatorOf(service);
  const guessed = startInit("irc", newFolder(), flags, operator);
  expect(await guessed.exited).toBe(78);
  expect(guessed.output()).toContain("BASE_URL is missing");
  const other = createServer((_request, response) => void response.writeHead(404).end("not here"));
  await once(other.listen(0, "127.0.0.1"), "listening");
  const otherUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  for (const wrong of ["http://127.0.0.1:1", otherUrl]) {
    const init = startInit("irc", newFolder(), flags, { ...operator, BASE_URL: wrong });
    expect(await init.exited).toBe(1);
    expect(init.output()).toContain(`check BASE_URL (${wrong})`);
    expect(init.output()).toContain("Nothing was written.");
    expect(init.output()).not.toContain("created the workspace");
  }
  other.close();
});

test("in a terminal, init asks, hides the secret, asks again after a problem, and does not replace a file without consent", async () => {
  const folder = newFolder();
  const file = join(folder, "irc.env");
  const workspace = await service.workspaces.make();
  const owner = await joinIrc(server, "owner", "#locked");
  owner.client.raw("MODE #locked +k sesame");
  await owner.roundTrip();
  writeFileSync(file, "LOG_LEVEL=debug\nIRC_NICK=quizbot\n");
  const { program, answer } = startInitInTerminal("irc", folder);
  await answer("Replace it?", "perhaps");
  await answer("type y for yes, or n for no", "y");
  await answer("BASE_URL", service.url);
  await answer("WORKSPACE_ID", "not a uuid");
  await answer("WORKSPACE_ID must be a UUID", workspace.id);
  await answer("SIGNING_SECRET", workspace.secret);
  await answer("IRC_HOST", "");
  await answer("IRC_HOST is required", "irc example org");
  await answer("IRC_HOST must be a host name or an IP address", server.host);
  await answer("IRC_TLS", "off");
  await answer("[6667]", String(server.port));
  await answer("[quizbot]", "");
  await answer("IRC_CHANNELS", "locked");
  await answer("IRC_SASL", "");
  await answer("Change the answers", "");
  expect(visible(program.output())).toMatch(
    /problem {2}cannot join #locked: .*\+k.*\r?\n +the channel needs a key/,
  );
  for (const [words, typed] of [
    ["IRC_HOST", ""],
    ["IRC_TLS", ""],
    ["IRC_PORT", ""],
    ["[quizbot]", ""],
    ["[locked]", "#locked sesame"],
    ["IRC_SASL", ""],
  ] as const) {
    await answer(words, typed);
  }
  expect(await program.exited).toBe(0);
  expect(program.output()).not.toContain(workspace.secret);
  expect(settingsIn(file)).toEqual({
    BASE_URL: service.url,
    WORKSPACE_ID: workspace.id,
    SIGNING_SECRET: workspace.secret,
    STATE_FOLDER: join(folder, "chat-bridge-irc-state"),
    LOG_LEVEL: "debug",
    IRC_HOST: server.host,
    IRC_TLS: "off",
    IRC_PORT: String(server.port),
    IRC_NICK: "quizbot",
    IRC_CHANNELS: "#locked sesame",
    IRC_SASL: "off",
  });
  owner.leave();

  const before = readFileSync(file, "utf8");
  const again = startInitInTerminal("irc", folder);
  await again.answer("Replace it?", "");
  expect(await again.program.exited).toBe(1);
  const flagged = startInit("irc", folder, serverFlags());
  expect(await flagged.exited).toBe(78);
  expect(flagged.output()).toContain("add --replace");
  expect(readFileSync(file, "utf8")).toBe(before);
});

test("Ctrl-C stops init, and init writes nothing", async () => {
  const folder = newFolder();
  const { program, answer } = startInitInTerminal("irc", folder, await values());
  await answer("IRC_HOST", "irc.example.org");
  await answer("IRC_TLS", "\u0003");
  expect(await program.exited).toBe(130);
  expect(readdirSync(folder)).toEqual([]);
});

test("init explains why the bridge could not play in a channel, and writes nothing", async () => {
  const folder = newFolder();
  const owner = await joinIrc(server, "chanop", "#quiet");
  const modes = { "#quiet": "+m", "#invited": "+i", "#banned": "+b *!*@*" };
  for (const [channel, mode] of Object.entries(modes)) {
    owner.client.raw(`JOIN ${channel}`);
    owner.client.raw(`MODE ${channel} ${mode}`);
  }
  await owner.roundTrip();
  const other = await joinIrc(server, "games", "#elsewhere");
  const workspace = await service.workspaces.make();
  const environment = { BASE_URL: service.url, WORKSPACE_ID: workspace.id, SIGNING_SECRET: workspace.secret };
  const channels = Object.keys(modes).join(",");
  const init = startInit("irc", folder, [...serverFlags(), "--irc-channels", channels], environment);
  expect(await init.exited).toBe(1);
  const problems = init
    .output()
    .split("\n")
    .filter((line) => /^ {2}problem|^ {8,}/.test(line));
  expect(problems).toEqual([
    expect.stringMatching(/the server does not accept the nick games: .*in use/),
    expect.stringMatching(/would join as games_: .*stop the bridge or client that uses this nick/),
    expect.stringContaining("joined #quiet, but the channel is moderated (+m)"),
    expect.stringContaining("/mode #quiet +v games"),
    expect.stringContaining("cannot join #invited"),
    expect.stringContaining("(+i)"),
    expect.stringContaining("cannot join #banned"),
    expect.stringContaining("(+b)"),
  ]);
  expect(init.output()).toContain("Nothing was written.");
  expect(() => statSync(join(folder, "irc.env"))).toThrow("ENOENT");
  owner.leave();
  other.leave();
});

test.each([
  ["a wrong secret", async () => ({ ...(await values()), SIGNING_SECRET: "wrong" }), "check SIGNING_SECRET"],
  [
    "an unknown workspace",
    async () => ({ ...(await values()), WORKSPACE_ID: "11111111-2222-4333-8444-555555555555" }),
    "check WORKSPACE_ID",
  ],
  ["no service", async () => ({ ...(await values()), BASE_URL: "http://127.0.0.1:1" }), "check BASE_URL"],
])("init checks the workspace with a signed poll: %s", async (_what, environment, advice) => {
  const folder = newFolder();
  const init = startInit(
    "irc",
    folder,
    [...serverFlags(), "--irc-channels=games", "--irc-nick=polls"],
    await environment(),
  );
  expect(await init.exited).toBe(1);
  expect(init.output()).toContain(advice);
  expect(init.output()).toContain("Nothing was written.");
});

async function values() {
  const { id, secret } = await service.workspaces.make();
  return { BASE_URL: service.url, WORKSPACE_ID: id, SIGNING_SECRET: secret };
}

test("without a terminal, init lists all missing answers, and explains how to give them", async () => {
  const init = startInit("irc", newFolder(), ["--irc-nick", "2bad"], { IRC_SASL: "plain" });
  expect(await init.exited).toBe(78);
  expect(init.output()).toContain("init cannot ask, because stdin is not a terminal");
  const names = [...init.output().matchAll(/^ {2}- (\w+)/gm)].map(([, name]) => name);
  expect(names).toEqual([
    "BASE_URL",
    "WORKSPACE_ID",
    "SIGNING_SECRET",
    "IRC_HOST",
    "IRC_NICK",
    "IRC_CHANNELS",
    "IRC_SASL_ACCOUNT",
    "IRC_SASL_PASSWORD",
  ]);
  expect(init.output()).toMatch(/IRC_HOST is missing: .* \(--irc-host, or the variable IRC_HOST\)/);
  expect(init.output()).toMatch(/SIGNING_SECRET is missing: .*--signing-secret-file <path>/);
});

test("init does not accept a secret as an option of the command", async () => {
  const secret = startInit("irc", newFolder(), ["--signing-secret", "s3cret"]);
  expect(await secret.exited).toBe(64);
  expect(secret.output()).toContain("other users of this machine can read arguments");
  expect(secret.output()).not.toContain("s3cret");
});
