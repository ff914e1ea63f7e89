import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { joinIrc } from "../../bridges/irc/test/harness/irc-member";
import { createMember } from "../../bridges/matrix/test/harness/matrix-member";
import { joinXmpp } from "../../bridges/xmpp/test/harness/xmpp-member";
import { CHATS } from "../../deploy/local/chats/chats";
import { programFinder } from "../../deploy/local/chats/find-program";
import { findNgircd, findProsody } from "../programs/apt";
import { installSynapse } from "../programs/pypi";
import { fact, living, NO_DEMO, pathWith, type Run, start, stop } from "./npm-start";

const ALIAS = "#games:localhost";

/** Returns the password that the printed instructions give for the accounts of a chat. */
function passwordOf(page: string, chat: string): string {
  const text = page.slice(page.indexOf(`\n  ${chat} `));
  return /password of both: (\S+)/.exec(text)?.[1] ?? "";
}

async function matrixMember(page: string) {
  const url = fact(page, "matrix");
  const identifier = { type: "m.id.user", user: "ada" };
  const body = { type: "m.login.password", identifier, password: passwordOf(page, "matrix") };
  const answer = await fetch(`${url}/_matrix/client/v3/login`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  const member = createMember({ url, token, id: "@ada:localhost" });
  const { room_id: room } = (await member.join(ALIAS)) as { room_id: string };
  const old = new Set((await member.messages(room)).map(({ eventId }) => eventId));
  const sees = (words: string) =>
    member.sees(
      room,
      words,
      ({ sender, body: shown, eventId }) =>
        sender === "@games:localhost" && shown.includes(words) && !old.has(eventId),
    );
  return { room, say: (text: string) => member.say(room, text), sees };
}

async function xmppMember(page: string) {
  const port = Number(fact(page, "xmpp").split(":")[1]);
  const member = await joinXmpp({ port }, "ada", "Ada", "games@rooms.localhost", passwordOf(page, "xmpp"));
  await member.join();
  return member;
}

/** Plays the first question of a game, and stops the game. */
async function play(member: {
  say(text: string): unknown;
  sees(words: string): Promise<unknown>;
}): Promise<void> {
  await member.say("!play start");
  await member.sees("Trivia!");
  await member.say("!2");
  await member.sees("Question 1 of");
  await member.say("!1");
  await member.sees("The answer: ");
  await member.say("!play stop");
  await member.sees("Game stopped");
}

test("npm start --with irc runs an IRC server, on which members can play the demo's game", async () => {
  await findNgircd();
  const run = await start({ args: ["--with", "irc"] });
  const [host = "", port = ""] = fact(await run.ready(), "irc").split(":");
  expect(run.printed()).toContain(`\n  Play in IRC     ${host}:${port}  in #games: !play start\n`);
  const ada = await joinIrc({ host, port: Number(port), caPath: undefined }, "ada", "#games");
  ada.say("!play start 1");
  await ada.sees("Trivia!");
  ada.leave();
  await stop(run);
  const stops = run.printed().slice(run.printed().indexOf("· irc-bridge: stopping"));
  expect(stops).toMatch(/^· irc-bridge: stopping\n· irc-server: stopping\n· chat: stopping\n/);
});

describe("a start with --with matrix --with xmpp", () => {
  let run: Run;
  let page: string;
  let startBoth: (folder?: string) => Promise<Run>;
  beforeAll(async () => {
    await findProsody();
    const python = await installSynapse((line) => process.stderr.write(`${line}\n`));
    const env = { SYNAPSE_VENV: join(python, "../..") };
    const args = ["--with", "matrix", "--with", "xmpp"];
    startBoth = (folder) => start({ args, env, ...(folder !== undefined && { folder }) });
    run = await startBoth();
    page = await run.ready();
  });

  test("the rows that npm start prints fit into 80 columns, and name the room of each chat", () => {
    const rows = run.printed().split("\n");
    const chats = rows.filter((row) => row.startsWith("  Play in "));
    expect(chats.map((row) => row.replaceAll(/\S*:\d+/g, "<at>"))).toEqual([
      "  Play in Matrix  <at>  in #games:localhost: !play start",
      "  Play in XMPP    <at>  in games@rooms.localhost: !play start",
    ]);
    for (const row of chats) expect(row.length).toBeLessThanOrEqual(80);
  });

  test("members play the demo's game in the room of a Matrix homeserver", async () => {
    await play(await matrixMember(page));
  });

  test("members play the demo's game in the room of an XMPP server", async () => {
    const ada = await xmppMember(page);
    await play(ada);
    ada.leave();
  });

  test("the passwords are not in any log, in any process's command line, or in the rows that npm start prints", () => {
    const kept = JSON.parse(readFileSync(join(run.folder, "settings.json"), "utf8")) as {
      passwords: Record<string, { bridge: string; members: string }>;
    };
    const passwords = Object.values(kept.passwords).flatMap((each) => [each.bridge, each.members]);
    expect(passwords).toHaveLength(4);
    const logs = ["matrix-server", "matrix-bridge", "xmpp-server", "xmpp-bridge"].map((name) =>
      readFileSync(join(run.folder, `logs/${name}.log`), "utf8"),
    );
    const texts = [run.printed(), ...logs, ...living(run.folder).map(({ command }) => command)];
    expect(passwords.filter((password) => texts.some((text) => text.includes(password)))).toEqual([]);
  });

  test("the next start keeps the accounts and the rooms, even though it uses other ports", async () => {
    const before = await matrixMember(page);
    await stop(run);
    const stops = run.printed().slice(run.printed().indexOf("· xmpp-bridge: stopping"));
    expect(stops).toMatch(
      /^· xmpp-bridge: stopping\n· matrix-bridge: stopping\n(· (xmpp|matrix)-server: stopping\n){2}· chat: stopping\n/,
    );

    const second = await startBoth(run.folder);
    const again = await second.ready();
    for (const chat of ["matrix", "xmpp"]) {
      expect(passwordOf(again, chat)).toBe(passwordOf(page, chat));
      expect(fact(again, chat)).not.toBe(fact(page, chat));
    }
    const [after, ada] = [await matrixMember(again), await xmppMember(again)];
    expect(after.room).toBe(before.room);
    await Promise.all([play(after), play(ada)]);
    ada.leave();
    await stop(second);
  });
});

test.each([
  ["irc", "run sudo apt-get install ngircd (or brew install ngircd), and start again"],
  ["matrix", "~/synapse/bin/pip install matrix-synapse\nand start again with SYNAPSE_VENV=~/synapse"],
  ["xmpp", "run sudo apt-get install prosody (or brew install prosody/prosody/prosody), and start again"],
] as const)(
  "if the server for --with %s is missing, the error contains the command that installs it",
  (chat, words) => {
    const find = programFinder([pathWith()]);
    expect(() => CHATS[chat].findServer(find, { synapseVenv: undefined })).toThrow(words);
  },
);

test("Synapse is found as a program on the PATH, or as a module of the system's Python", () => {
  const command = (scripts: Readonly<Record<string, string>>) =>
    CHATS.matrix.findServer(programFinder([pathWith(scripts)]), { synapseVenv: undefined });
  const path = (name: string) => expect.stringMatching(new RegExp(`/${name}$`)) as string;
  expect(command({ synapse_homeserver: "exit 0", python3: "exit 0" })).toEqual([path("synapse_homeserver")]);
  expect(command({ python3: "exit 0" })).toEqual([path("python3"), "-m", "synapse.app.homeserver"]);
  expect(() => command({ python3: "exit 1" })).toThrow("pip install matrix-synapse");
});

test("if SYNAPSE_VENV does not contain Synapse, the start fails and says how to install it", async () => {
  const folder = pathWith();
  const run = await start({ args: ["--with", "matrix"], env: { SYNAPSE_VENV: folder } });
  expect(await run.exited).toBe(78);
  expect(run.printedErrors()).toContain(`${folder}/bin/pip install matrix-synapse, and start again.\n`);
});

test("npm start works although other programs use the ports of chats that it does not start", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const used = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = { ...NO_DEMO, IRC_LISTEN: used, MATRIX_LISTEN: used, XMPP_LISTEN: used, CHAT_LISTEN: used };
  const run = await start({ env });
  await run.ready();
  await stop(run);
  await once(server.close(), "close");
});

test.each([
  [["--with", "carrier-pigeon"], "Unknown chat carrier-pigeon after --with: use irc, matrix, or xmpp\n"],
  [["--with"], "Option '--with <value>' argument missing\n"],
  [["--what"], "Unknown option '--what'"],
  [["word"], "Unexpected argument 'word'"],
])("the arguments %j are rejected", async (args, words) => {
  const run = await start({ args });
  expect(await run.exited).toBe(64);
  expect(run.printedErrors()).toContain(words);
  expect(run.printedErrors()).toContain("npm start -- --help lists the options.\n");
});
