import { join } from "node:path";
import bank from "../../../../demo/game/questions/bank.json";
import { testFolder } from "../../../../test/harness/folder";
import { startGame } from "../../../../test/harness/game-chat";
import { freePort, startCore, startEdge, type TestProcess } from "../../../../test/harness/processes";
import { startService, type TestService } from "../../../../test/harness/service";
import { until } from "../../../../test/harness/wait";
import type { BridgeProcess } from "../../../common/test/bridge-process";
import { startBridge } from "../harness/bridge-process";
import type { RoomMessage } from "../harness/fold-room";
import type { MatrixMember } from "../harness/matrix-member";
import { PASSWORD, SERVER_NAME, startSynapse, SYNAPSE_WITHIN_MS, type TestSynapse } from "../harness/synapse";

const folder = testFolder();
const GAMES = `@games:${SERVER_NAME}`;
/** A question ends when all members have answered, and at the latest after 60 seconds. */
const PACE = { ROUNDS: "2", QUESTION_SECONDS: "60", REVEAL_SECONDS: "8", LOBBY_SECONDS: "300" };
const FULL_BOARD = /(\w+) · (\d+) points/g;

let synapse: TestSynapse;
let service: TestService;
let core: TestProcess;
let edge: TestProcess;
let game: TestProcess;
let bridge: BridgeProcess;
let environment: Record<string, string>;

beforeAll(async () => {
  const corePort = await freePort();
  const edgePort = await freePort();
  [synapse, service] = await Promise.all([
    startSynapse(),
    startService({
      core: { CORE_LISTEN: `127.0.0.1:${corePort}` },
      edge: { EDGE_LISTEN: `127.0.0.1:${edgePort}` },
    }),
  ]);
  ({ core, edge } = service);
  game = await startGame(core.port, { FOLLOW_GROUP: "trivia-matrix", ...PACE });
  const workspace = await service.workspaces.make();
  await synapse.account("games");
  environment = {
    BASE_URL: service.url,
    WORKSPACE_ID: workspace.id,
    SIGNING_SECRET: workspace.secret,
    STATE_FOLDER: join(folder, "state"),
    MATRIX_HOMESERVER: synapse.url,
    MATRIX_USER: "games",
    MATRIX_PASSWORD: PASSWORD,
  };
}, SYNAPSE_WITHIN_MS);
afterAll(async () => {
  await bridge?.stop();
  await game?.stop();
  await core?.stop("SIGKILL");
  await edge?.stop("SIGKILL");
  await service?.close();
  await synapse?.close();
});

async function restartBridge(): Promise<void> {
  await bridge.stop("SIGKILL");
  bridge = await startBridge(environment);
}

async function restartService(): Promise<void> {
  await core.stop("SIGKILL");
  await edge.stop("SIGKILL");
  core = await startCore(service.redis.url, { CORE_LISTEN: `127.0.0.1:${service.core.port}` });
  edge = await startEdge(core.port, { EDGE_LISTEN: new URL(service.url).host });
}

/** Returns the keycap of the right answer to the question that a message shows. */
function rightKeycap({ body }: RoomMessage): string {
  // Several questions have the same text, so the options also identify the question.
  const question = bank.choices.find(({ text, options }) => {
    return body.includes(text) && options.every((option) => body.includes(` · ${option}`));
  });
  const line = body.split("\n").find((each) => each.endsWith(` · ${question?.options[0]}`)) ?? "";
  return line.split(" ")[0] ?? "";
}

const fromBridge = ({ sender }: RoomMessage) => sender === GAMES;
const says = (words: string | RegExp) => (message: RoomMessage) =>
  fromBridge(message) &&
  (typeof words === "string" ? message.body.includes(words) : words.test(message.body));
const keycapsOf = ({ reactions }: RoomMessage) =>
  reactions.filter(({ sender }) => sender === GAMES).map(({ key }) => key);

/** Waits until a message has the given number of keycap reactions from the bridge, and no reactions from members. */
async function seesKeycaps(member: MatrixMember, roomId: string, eventId: string, count: number) {
  return member.sees(roomId, `${count} keycaps`, (message) => {
    return (
      message.eventId === eventId && keycapsOf(message).length === count && message.reactions.length === count
    );
  });
}

// time: smoke
test(
  "three members play a whole game while the bridge, the service and the homeserver are killed and restarted",
  async () => {
    bridge = await startBridge(environment);
    const [ann, bob, cat] = await Promise.all([
      synapse.member("ann"),
      synapse.member("bob"),
      synapse.member("cat"),
    ]);
    const members = [ann, bob, cat];
    const room = await ann.createRoom({ name: "Quiz night" }, GAMES, bob.id, cat.id);
    await Promise.all([bob.join(room), cat.join(room)]);
    await ann.promote(room, GAMES);
    await until("the bridge has joined", async () => (await ann.membershipOf(room, GAMES)) === "join");

    // A lobby, joined with reactions.
    await ann.say(room, "!play start");
    const { eventId } = await ann.sees(room, "the lobby", says("opens a game"));
    await seesKeycaps(ann, room, eventId, 2);
    await bob.react(room, eventId, "1️⃣");
    await cat.say(room, "!1");
    await ann.sees(
      room,
      "all members in the lobby",
      says(/Players: ann, bob, cat|ann.*bob.*cat|ann.*cat.*bob/),
    );
    await seesKeycaps(ann, room, eventId, 2);
    await ann.react(room, eventId, "2️⃣");

    // The first question gets one answer before the bridge is killed, one while the bridge is stopped, and one while
    // the service is stopped.
    const first = await ann.sees(room, "the first question", says("Question 1 of 2"));
    const right = rightKeycap(first);
    await seesKeycaps(ann, room, first.eventId, 4);
    // The question is a new message, and the lobby is closed.
    await seesKeycaps(ann, room, eventId, 0);
    await bob.react(room, first.eventId, right);
    await ann.sees(room, "one answer", says("1 of 3 have answered"));
    await bridge.stop("SIGKILL");
    await cat.react(room, first.eventId, right);
    bridge = await startBridge(environment);
    await ann.sees(room, "two answers", says("2 of 3 have answered"));
    const restarted = restartService();
    await ann.react(room, first.eventId, right);
    await restarted;
    // After the outage, the bridge may fetch the answer and the next question together, and show only the question.
    await ann.sees(room, "the answer", says(/The answer:|Question 2 of 2/));

    // The second question asks for a number: the homeserver is killed, and the bridge is killed while the homeserver is
    // stopped.
    await synapse.stop("SIGKILL");
    await restartBridge();
    await synapse.start();
    const second = await ann.sees(room, "the second question", says("Question 2 of 2"));
    // The answer has four decimals. If it had three, the game would ask for its meaning, because 42.195 can also mean
    // 42195.
    const number = String(bank.numbers.find(({ text }) => second.body.includes(text))?.right.toFixed(4));
    await seesKeycaps(ann, room, first.eventId, 0);
    await ann.say(room, number);
    // A reply to the message of an earlier question counts for the current question.
    await bob.reply(room, first.eventId, number);
    await ann.sees(room, "two answers", says("2 of 3 have answered"));
    await bridge.stop("SIGKILL");
    await cat.say(room, number);
    bridge = await startBridge(environment);
    const board = await ann.sees(room, "the final board", says("Final board"));

    // Every member's answers count: at least 100 points for the first question, and 200 for the exact number.
    const points = [...board.body.matchAll(FULL_BOARD)].map(([, name, won]) => [name, Number(won) >= 300]);
    expect(Object.fromEntries(points)).toEqual({ ann: true, bob: true, cat: true });
    expect(board.eventId).toBe(second.eventId);

    // Every message is shown once: the lobby, and one message for each question.
    const shown = (await ann.messages(room)).filter(fromBridge);
    expect(shown.filter(({ msgtype }) => msgtype !== "m.notice").map((message) => message.eventId)).toEqual([
      eventId,
      first.eventId,
      second.eventId,
    ]);
    for (const { eventId: each } of [{ eventId }, first, second]) await seesKeycaps(ann, room, each, 0);
    // A bridge that is killed while it creates a direct room may create a second one, so a member can have two.
    const directRooms = new Map<MatrixMember, string[]>(members.map((member) => [member, []]));
    async function directMessages(member: MatrixMember) {
      const rooms = directRooms.get(member) ?? [];
      for (const invite of await member.newInvites()) {
        await member.join(invite);
        rooms.push(invite);
      }
      const messages = rooms.map(async (roomId) =>
        (await member.messages(roomId)).filter(fromBridge).map((message) => ({ roomId, ...message })),
      );
      return (await Promise.all(messages)).flat();
    }
    for (const member of members) {
      await until("the receipts of two answers", async () => {
        const receipts = (await directMessages(member)).filter(says("Locked in"));
        return receipts.length >= 2;
      });
      const texts = (await directMessages(member)).map(({ body }) => body);
      expect(texts.toSorted()).toEqual([...new Set(texts)].toSorted());
    }

    // The winner asks for a rematch, and a member suggests a topic, each in a direct room.
    const [winner, offer] = await until("the offer of a rematch", async () => {
      for (const member of members) {
        const found = (await directMessages(member)).find(says("Do you want a rematch?"));
        if (found !== undefined) return [member, found] as const;
      }
      return undefined;
    });
    await winner.react(offer.roomId, offer.eventId, "1️⃣");
    const again = await ann.sees(
      room,
      "another lobby",
      (each) => says("opens a game")(each) && each.eventId !== eventId,
    );
    await ann.say(room, "!play suggest");
    const prompt = await until("the prompt", async () =>
      (await directMessages(ann)).find(says("Which topic would you like?")),
    );
    const direct = prompt.roomId;
    await ann.reply(direct, prompt.eventId, "Bridges");
    await bob.sees(room, "the topic", says("suggests a topic:\n\n> Bridges"));
    await ann.sees(
      direct,
      "the thanks",
      (each) => each.eventId === prompt.eventId && says("Thank you")(each),
    );
    expect(again.body).toContain("Players");
    expect(bridge.output()).not.toContain(environment["SIGNING_SECRET"]);
    expect(bridge.output()).not.toContain(PASSWORD);
    expect(bridge.log.filter(({ level }) => level === "error" || level === "fatal")).toEqual([]);
  },
  5 * 60_000,
);
