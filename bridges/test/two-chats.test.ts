import { testFolder } from "../../test/harness/folder";
import { startGame } from "../../test/harness/game-chat";
import type { TestProcess } from "../../test/harness/processes";
import { startService, type TestService } from "../../test/harness/service";
import { until } from "../../test/harness/wait";
import { startBridgeProcess, type BridgeProcess } from "../common/test/bridge-process";
import { joinIrc, type IrcMember } from "../irc/test/harness/irc-member";
import { startNgircd, type IrcServer } from "../irc/test/harness/irc-server";
import { startBridge } from "../matrix/test/harness/bridge-process";
import type { RoomMessage } from "../matrix/test/harness/fold-room";
import {
  SERVER_NAME,
  startSynapse,
  SYNAPSE_WITHIN_MS,
  type TestSynapse,
} from "../matrix/test/harness/synapse";

const PACE = { QUESTION_SECONDS: "60", REVEAL_SECONDS: "2", LOBBY_SECONDS: "300", ROUNDS: "1" };
const GAMES = `@games:${SERVER_NAME}`;
const folder = testFolder();

let service: TestService;
let game: TestProcess;
let synapse: TestSynapse;
let irc: IrcServer;
let matrixBridge: BridgeProcess;
let ircBridge: BridgeProcess;

/** Creates a workspace, and returns the settings that every bridge needs. */
async function workspaceSettings(name: string): Promise<Record<string, string>> {
  const { id, secret } = await service.workspaces.make();
  return {
    BASE_URL: service.url,
    WORKSPACE_ID: id,
    SIGNING_SECRET: secret,
    STATE_FOLDER: `${folder}/${name}`,
  };
}

beforeAll(async () => {
  [service, synapse, irc] = await Promise.all([startService(), startSynapse(), startNgircd(folder)]);
  game = await startGame(service.core.port, PACE);
  ircBridge = startBridgeProcess("irc", {
    ...(await workspaceSettings("irc")),
    IRC_HOST: irc.host,
    IRC_PORT: String(irc.port),
    IRC_TLS: "off",
    IRC_CHANNELS: "games",
    IRC_LINE_MS: "50",
  });
  matrixBridge = await startBridge({
    ...(await workspaceSettings("matrix")),
    MATRIX_HOMESERVER: synapse.url,
    MATRIX_ACCESS_TOKEN: await synapse.account("games"),
  });
  await ircBridge.ready();
}, SYNAPSE_WITHIN_MS);
afterAll(async () => {
  await matrixBridge?.stop();
  await ircBridge?.stop();
  await game?.stop();
  await service?.close();
  await irc?.stop();
  await synapse?.close();
});

const says =
  (words: string) =>
  ({ sender, body }: RoomMessage): boolean =>
    sender === GAMES && body.includes(words);

// time: smoke
test("a Matrix room and an IRC channel play separate games at the same time", async () => {
  const [ann, bob] = await Promise.all([synapse.member("ann"), synapse.member("bob")]);
  const room = await ann.createRoom({ name: "Quiz night" }, GAMES, bob.id);
  await bob.join(room);
  await until("the Matrix bridge has joined", async () => (await ann.membershipOf(room, GAMES)) === "join");
  const [cid, dan] = [await joinIrc(irc, "cid", "#games"), await joinIrc(irc, "dan", "#games")];

  cid.say("!play start");
  await ann.say(room, "!play start");
  const { eventId } = await ann.sees(room, "the lobby", says("ann opens a game"));
  await cid.sees("cid opens a game");
  await cid.sees("(answer with !1 or !2)");
  await bob.react(room, eventId, "1️⃣");
  dan.say("!1");
  await Promise.all([ann.sees(room, "bob in the lobby", says("ann, bob")), dan.sees("You are in")]);

  // Both games have asked their only question before either game ends.
  await ann.react(room, eventId, "2️⃣");
  cid.say("!2");
  const question = await ann.sees(room, "the question", says("Question 1 of 1"));
  await cid.sees("(answer with !1 to !4)");
  await ann.react(room, question.eventId, "1️⃣");
  cid.say("!1");
  await Promise.all([ann.sees(room, "one answer", says("1 of 2 have answered")), cid.sees("Locked in")]);
  dan.say("!2");
  await bob.react(room, question.eventId, "2️⃣");
  const board = await ann.sees(room, "the final board", says("Final board"));
  await Promise.all([cid.sees("Final board"), dan.sees("Final board")]);

  // Players without points have no medal.
  const players = (lines: readonly string[]) =>
    lines.flatMap((line) => /^(?:🥇|🥈|–) (\w+) · \d+ points$/u.exec(line)?.[1] ?? []).toSorted();
  const seenBy = ({ lines }: IrcMember) => players(lines.flatMap(({ text }) => text.split(" | ")));
  await until("both see the board", () => [cid, dan].every((member) => seenBy(member).length === 2));
  expect(players(board.body.split("\n"))).toEqual(["ann", "bob"]);
  for (const member of [cid, dan]) expect(seenBy(member)).toEqual(["cid", "dan"]);
  // Neither chat shows messages of the other.
  expect((await ann.messages(room)).filter(({ body }) => /\b(?:cid|dan)\b/.test(body))).toEqual([]);
  expect(cid.lines.filter(({ text }) => /\b(?:ann|bob)\b/.test(text))).toEqual([]);
  cid.leave();
  dan.leave();
});
