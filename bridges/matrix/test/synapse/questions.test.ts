import { MessageKind } from "../../../../proto/gen/chatbridge/v1/event";
import { create, update, type MessageInit } from "../../../../test/harness/contents";
import { sharedService } from "../../../../test/harness/shared-service";
import { until } from "../../../../test/harness/wait";
import type { RoomMessage } from "../harness/fold-room";
import { startRig, type MatrixRig } from "../harness/matrix-rig";
import { card, idOf, keysOf, startScene } from "../harness/scene";

const service = sharedService();
const scene = startScene(service);
const { fromBridge, says, seesKeycaps } = scene;

const lobby = (): MessageInit => ({ ...card("Trivia!", "Join", "Start"), kind: MessageKind.GAME_START });
const question = (text: string, ...labels: string[]): MessageInit => ({
  ...card(text, ...labels),
  kind: MessageKind.QUESTION,
});
const prompt = (text: string): MessageInit => ({ ...question(text), awaitsReply: true });
const reveal = (text: string): MessageInit => ({ ...card(text), kind: MessageKind.TIME_UP });

/** Resolves to the first lines of the bridge's messages in a room, without its notices. */
async function lines(room: string, { id }: MatrixRig = scene.rig): Promise<readonly string[]> {
  const all = await scene.ann.messages(room);
  return all
    .filter(({ sender, msgtype }) => sender === id && msgtype !== "m.notice")
    .map(({ body }) => body.split("\n")[0] ?? "");
}

test("a new question is a new message, all other updates edit the last message, and the message before a question is closed", async () => {
  const { rig, ann } = scene;
  const room = await rig.room(ann);
  const id = await idOf(rig.publish(create(room, lobby())));
  const opened = await seesKeycaps(room, "Trivia!", "1️⃣", "2️⃣");
  await rig.publish(update(room, { ...lobby(), text: "Trivia! Players: ann", id }));
  await ann.sees(room, "the players", says("Players: ann"));

  await rig.publish(update(room, { ...question("Question 1", "Paris", "Rome"), id }));
  const first = await seesKeycaps(room, "Question 1", "1️⃣", "2️⃣");
  expect(first.eventId).not.toBe(opened.eventId);
  // The closed lobby has neither choices nor keycaps.
  const closed = await seesKeycaps(room, "Players: ann");
  expect(closed).toMatchObject({ eventId: opened.eventId, body: "Trivia! Players: ann" });
  const tally = { ...question("Question 1 · 1 of 2 have answered", "Paris", "Rome"), id };
  await rig.publish(update(room, { ...tally, kind: MessageKind.ANSWER_UPDATE }));
  await ann.sees(room, "an answer", says("1 of 2 have answered"));
  await rig.publish(update(room, { ...reveal("The answer: Paris"), id }));
  await seesKeycaps(room, "The answer: Paris");

  await rig.publish(update(room, { ...prompt("Question 2: how high?"), id }));
  await ann.sees(room, "the second question", says("Question 2"));
  expect(await lines(room)).toEqual(["Trivia! Players: ann", "The answer: Paris", "Question 2: how high?"]);
});

test("members answer the newest question with replies and threads to any of its messages, also after the bridge was killed", async () => {
  const { rig, ann } = scene;
  const room = await rig.room(ann);
  const id = await idOf(rig.publish(create(room, lobby())));
  const opened = await seesKeycaps(room, "Trivia!", "1️⃣", "2️⃣");
  await rig.publish(update(room, { ...question("Question 1", "Paris", "Rome"), id }));
  const first = await seesKeycaps(room, "Question 1", "1️⃣", "2️⃣");
  await rig.publish(update(room, { ...prompt("Question 2"), id }));
  const second = await ann.sees(room, "the second question", says("Question 2"));
  const [before, after] = ["before the kill", "after the kill"];
  for (const when of [before, after]) {
    for (const { eventId } of [opened, first, second]) await ann.reply(room, eventId, `8849 ${when}`);
    const thread = { rel_type: "m.thread", event_id: first.eventId, is_falling_back: true };
    const content = { msgtype: "m.text", body: `8850 ${when}`, "m.relates_to": thread };
    await ann.send(room, "m.room.message", content);
    await rig.reports("the last answer", ({ text }) => text === `8850 ${when}`);
    const replies = rig.reported().filter(({ channel, text }) => channel === room && text.endsWith(when));
    expect(replies.map(({ type, replyTo }) => [type, replyTo])).toEqual(
      Array.from({ length: 4 }, () => ["message", id]),
    );
    if (when === before) await rig.restart();
  }

  // A reaction to a closed question does not answer the open question. A reaction to the open question does.
  await rig.publish(update(room, { ...question("Question 3", "Oslo", "Bern"), id }));
  const third = await seesKeycaps(room, "Question 3", "1️⃣", "2️⃣");
  await rig.restart();
  for (const { eventId } of [first, opened]) await ann.react(room, eventId, "1️⃣");
  await ann.react(room, third.eventId, "2️⃣");
  await rig.reports("a press", ({ channel, type }) => channel === room && type === "action");
  await ann.reply(room, first.eventId, "!1");
  await rig.reports("a typed press", ({ channel, action }) => channel === room && action === "do Oslo");
  const presses = rig.reported().filter(({ channel, type }) => channel === room && type === "action");
  expect(presses.map(({ action, messageId }) => [action, messageId])).toEqual([
    ["do Bern", id],
    ["do Oslo", id],
  ]);
  expect(await lines(room)).toEqual(["Trivia!", "Question 1", "Question 2", "Question 3"]);
});

describe("with MATRIX_QUESTIONS=edit", () => {
  let rig: MatrixRig;
  beforeAll(async () => {
    const settings = { MATRIX_QUESTIONS: "edit" };
    rig = await startRig(service, scene.synapse, { account: "edits", settings });
  });
  afterAll(() => rig?.close());

  test("with the power to remove reactions, a game is one message", async () => {
    const { ann } = scene;
    const room = await rig.room(ann);
    const id = await idOf(rig.publish(create(room, lobby())));
    await ann.sees(room, "the lobby", ({ body }) => body.startsWith("Trivia!"));
    await rig.publish(update(room, { ...question("Question 1", "Paris", "Rome"), id }));
    await ann.sees(room, "the question", ({ body }) => body.startsWith("Question 1"));
    expect(await lines(room, rig)).toEqual(["Question 1"]);
  });

  test("without the power to remove reactions, each question is a new message, so that members can choose the same number again, and the bridge says so once", async () => {
    const { ann } = scene;
    const room = await rig.room(ann, { isPowerful: false });
    const id = await idOf(rig.publish(create(room, question("Question 1", "Paris", "Rome"))));
    const sees = (words: string) => ann.sees(room, words, ({ body }) => body.startsWith(words));
    const first = await sees("Question 1");
    await ann.react(room, first.eventId, "1️⃣");
    await rig.reports("a press", ({ channel, action }) => channel === room && action === "do Paris");
    const isNotice = ({ msgtype, body }: RoomMessage) => msgtype === "m.notice" && body.includes("reactions");
    await ann.sees(room, "the notice", isNotice);
    await rig.restart();
    await rig.publish(update(room, { ...question("Question 2", "Oslo", "Bern"), id }));
    const second = await sees("Question 2");
    await ann.react(room, second.eventId, "1️⃣");
    await rig.reports("a press", ({ channel, action }) => channel === room && action === "do Oslo");
    const keycaps = await ann.sees(room, "the keycaps", (message) => {
      return message.eventId === second.eventId && keysOf(message, rig.id).length === 2;
    });
    // The bridge sends its requests in the background one after another: the keycaps follow the notice.
    expect(keycaps.body).toContain("Question 2");
    expect(await lines(room, rig)).toEqual(["Question 1", "Question 2"]);
    expect((await ann.messages(room)).filter(isNotice)).toHaveLength(1);
  });
});

describe("in a room in which the bridge may not speak", () => {
  const MUTED = { events_default: 50 };
  const MUTED_LINE = "an update waits: the bridge may not send messages in the room";

  test("a message waits until a moderator allows it, and then shows its current state", async () => {
    const { rig, ann } = scene;
    const room = await ann.createRoom({ name: "Muted", power_level_content_override: MUTED }, rig.id);
    await until("the bridge has joined", async () => (await ann.membershipOf(room, rig.id)) === "join");
    const id = await idOf(rig.publish(create(room, lobby())));
    await until("the message waits", () => rig.bridge.output().includes("may not send messages in the room"));
    await rig.publish(update(room, { ...question("Question 1", "Paris", "Rome"), id }));
    const stateOf = async () => {
      const { rooms } = (await rig.bridge.health()).body as {
        rooms: readonly { id: string; name: string; problem?: string }[];
      };
      return rooms.find((each) => each.id === room);
    };
    await until("the name of the room", async () => (await stateOf())?.name === "Muted");
    expect(await stateOf()).toEqual({
      id: room,
      name: "Muted",
      problem: "the bridge may not send messages here: raise the power level of its account",
      note: expect.stringContaining("may not remove reactions"),
    });
    // Another room does not wait.
    const other = await rig.room(ann);
    const otherId = await idOf(rig.publish(create(other, lobby())));
    await seesKeycaps(other, "Trivia!", "1️⃣", "2️⃣");
    await rig.publish(update(other, { ...reveal("The end"), id: otherId }));
    await seesKeycaps(other, "The end");
    expect((await ann.messages(room)).filter(fromBridge)).toEqual([]);

    await ann.promote(room, rig.id);
    await seesKeycaps(room, "Question 1", "1️⃣", "2️⃣");
    await until("the room is playable", async () => (await stateOf())?.problem === undefined);
    expect(await stateOf()).toEqual({ id: room, name: "Muted" });
    expect((await ann.messages(room)).filter(fromBridge).length).toBeLessThanOrEqual(2);
  });

  test("an update also waits, and does not keep the bridge from stopping", async () => {
    const { rig, ann } = scene;
    const room = await rig.room(ann);
    const id = await idOf(rig.publish(create(room, question("Question 1", "Paris", "Rome"))));
    await seesKeycaps(room, "Question 1", "1️⃣", "2️⃣");
    const path = `rooms/${encodeURIComponent(room)}/state/m.room.power_levels/`;
    const powers = await ann.call<object>("GET", path);
    const mute = () => ann.call("PUT", path, { ...powers, ...MUTED, users: {} });
    await mute();
    await rig.publish(update(room, { ...reveal("The answer: Paris"), id }));
    await rig.bridge.logs(MUTED_LINE);
    await rig.publish(update(room, { ...card("Final board"), kind: MessageKind.GAME_END, id }));
    await ann.promote(room, rig.id);
    await seesKeycaps(room, "Final board");
    expect(await lines(room)).toEqual(["Final board"]);

    await mute();
    await rig.publish(update(room, { ...card("Never shown"), id }));
    await until("the update waits", () => rig.bridge.logged(MUTED_LINE).length === 2);
    expect(await rig.bridge.stop("SIGTERM")).toBe(0);
    await rig.restart();
  });
});
