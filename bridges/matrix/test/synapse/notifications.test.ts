import { join } from "node:path";
import bank from "../../../../demo/game/questions/bank.json";
import { testFolder } from "../../../../test/harness/folder";
import { startGame } from "../../../../test/harness/game-chat";
import type { TestProcess } from "../../../../test/harness/processes";
import { startService, type TestService } from "../../../../test/harness/service";
import { until } from "../../../../test/harness/wait";
import type { BridgeProcess } from "../../../common/test/bridge-process";
import { startBridge } from "../harness/bridge-process";
import type { RawEvent, RoomMessage } from "../harness/fold-room";
import type { MatrixMember } from "../harness/matrix-member";
import { SERVER_NAME, startSynapse, SYNAPSE_WITHIN_MS, type TestSynapse } from "../harness/synapse";

const folder = testFolder();
const GAMES = `@games:${SERVER_NAME}`;
const QUESTIONS = 4;
const PACE = {
  ROUNDS: String(QUESTIONS),
  QUESTION_SECONDS: "60",
  REVEAL_SECONDS: "2",
  LOBBY_SECONDS: "300",
};

let synapse: TestSynapse;
let service: TestService;
let game: TestProcess;
let bridge: BridgeProcess;

beforeAll(async () => {
  [synapse, service] = await Promise.all([startSynapse(), startService()]);
  game = await startGame(service.core.port, PACE);
  const workspace = await service.workspaces.make();
  bridge = await startBridge({
    BASE_URL: service.url,
    WORKSPACE_ID: workspace.id,
    SIGNING_SECRET: workspace.secret,
    STATE_FOLDER: join(folder, "state"),
    MATRIX_HOMESERVER: synapse.url,
    MATRIX_ACCESS_TOKEN: await synapse.account("games"),
  });
}, SYNAPSE_WITHIN_MS);
afterAll(async () => {
  await bridge?.stop();
  await game?.stop();
  await service?.close();
  await synapse?.close();
});

const says = (words: string) => (message: RoomMessage) =>
  message.sender === GAMES && message.body.includes(words);

/** Resolves to the bridge's events about which the homeserver has notified a member, oldest first. */
async function notificationsOf(member: MatrixMember): Promise<readonly RawEvent[]> {
  interface Notified {
    readonly ts: number;
    readonly event: RawEvent;
  }
  const { notifications } = await member.call<{ notifications: Notified[] }>(
    "GET",
    "notifications?limit=500",
  );
  return notifications
    .toSorted((a, b) => a.ts - b.ts)
    .map(({ event }) => event)
    .filter(({ type, sender }) => sender === GAMES && type !== "m.room.member");
}

/** A member answers a question with the first option or with the right number. */
async function answer(member: MatrixMember, room: string, { body, eventId }: RoomMessage): Promise<void> {
  const number = bank.numbers.find(({ text }) => body.includes(text))?.right.toFixed(4);
  if (number === undefined) await member.react(room, eventId, "1️⃣");
  else await member.say(room, number);
}

// time: smoke
test("in a whole game, the homeserver notifies members of each question once, and never of receipts, answers or edits", async () => {
  const [ann, bob] = await Promise.all([synapse.member("ann"), synapse.member("bob")]);
  // A member's name is shown unchanged, and mentions nobody.
  const name = "**Bob** <b>@room";
  await bob.call("PUT", `profile/${encodeURIComponent(bob.id)}/displayname`, { displayname: name });
  const room = await ann.createRoom({ name: "Quiz night" }, GAMES, bob.id);
  await bob.join(room);
  await ann.promote(room, GAMES);
  await until("the bridge has joined", async () => (await ann.membershipOf(room, GAMES)) === "join");
  await ann.say(room, "!play start");
  const lobby = await ann.sees(room, "the lobby", says("opens a game"));
  await bob.react(room, lobby.eventId, "1️⃣");
  await ann.sees(room, "all members in the lobby", says(`ann, ${name}`));
  await ann.react(room, lobby.eventId, "2️⃣");
  const questions: string[] = [];
  for (let i = 1; i <= QUESTIONS; i += 1) {
    const question = await ann.sees(room, `question ${i}`, says(`Question ${i} of ${QUESTIONS}`));
    questions.push(question.eventId);
    for (const member of [ann, bob]) await answer(member, room, question);
  }
  await ann.sees(room, "the final board", says("Final board"));

  for (const member of [ann, bob]) {
    const direct = await member.directRoomWith(GAMES);
    // On a busy machine, a receipt can expire before it is shown.
    const receipts = await until("the receipts", async () => {
      const locked = (await member.messages(direct)).filter(says("Locked in"));
      return locked.length > 0 && locked;
    });
    expect(new Set(receipts.map(({ msgtype }) => msgtype))).toEqual(new Set(["m.notice"]));
    const notified = (await notificationsOf(member)).filter((event) => event.event_id !== lobby.eventId);
    // A winner is also asked, in the direct room, whether they want a rematch.
    const asked = notified.filter(({ content }) => !String(content["body"]).includes("rematch"));
    expect(asked.map(({ event_id: id }) => id)).toEqual(questions);
    for (const { content } of notified) expect(content["msgtype"]).not.toBe("m.notice");
  }
}, 180_000);
