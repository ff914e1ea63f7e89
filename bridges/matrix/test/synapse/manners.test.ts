import { MessageKind } from "../../../../proto/gen/chatbridge/v1/event";
import { create, ephemeral, published, update } from "../../../../test/harness/contents";
import { sharedService } from "../../../../test/harness/shared-service";
import { until } from "../../../../test/harness/wait";
import type { RoomMessage } from "../harness/fold-room";
import type { MatrixMember } from "../harness/matrix-member";
import { startRig } from "../harness/matrix-rig";
import { card, idOf, startScene } from "../harness/scene";

const scene = startScene(sharedService());
const { says } = scene;
const isNotice = ({ sender, msgtype }: RoomMessage) => sender === scene.rig.id && msgtype === "m.notice";

const notice = (member: MatrixMember, room: string, words: string) =>
  member.sees(room, `the notice “${words}”`, (message) => isNotice(message) && message.body.includes(words));

/** Resolves to the number of the bridge's notices in a room. */
const noticesIn = async (room: string) => (await scene.ann.messages(room)).filter(isNotice).length;

/** Opens a question with two choices in a room with two members. Resolves to the room and the message. */
async function openQuestion() {
  const { rig, ann, bob } = scene;
  const room = await rig.room(ann);
  await ann.invite(room, bob.id);
  await bob.join(room);
  const id = await idOf(rig.publish(create(room, card("Pick one", "Paris", "Rome"))));
  const { eventId } = await scene.seesKeycaps(room, "Pick one", "1️⃣", "2️⃣");
  return { room, id, eventId };
}

/** A member presses a button. The bridge reports the press after all earlier events of the member. */
async function presses(member: MatrixMember, room: string): Promise<void> {
  await member.say(room, "!2");
  await scene.rig.reports("a press", ({ channel, user }) => channel === room && user === member.id);
}

describe("while a question waits, the bridge explains once to each member why this is not an answer:", () => {
  type Act = (member: MatrixMember, room: string, eventId: string) => Promise<unknown>;
  const edits: Act = async (member, room) => {
    const original = await member.say(room, "I think it is Rome");
    const relation = { rel_type: "m.replace", event_id: original };
    const newer = { msgtype: "m.text", body: "!2" };
    const content = { ...newer, body: "* !2", "m.new_content": newer, "m.relates_to": relation };
    await member.send(room, "m.room.message", content);
  };

  test.each<[string, Act, string]>([
    [
      "a number without the prefix",
      (member, room) => member.say(room, "2"),
      "type !2, or add the reaction 2️⃣",
    ],
    [
      "another reaction",
      (member, room, eventId) => member.react(room, eventId, "👍"),
      "add one of the reactions 1️⃣ to 2️⃣, or type !1 or !2",
    ],
    ["an edit", edits, "Only your first text counts, not the edit"],
  ])("%s", async (_what, act, words) => {
    const { rig, ann, bob } = scene;
    const { room, id, eventId } = await openQuestion();
    // Another bot's notices are not explained.
    await bob.send(room, "m.room.message", { msgtype: "m.notice", body: "2" });
    await act(ann, room, eventId);
    const { body } = await notice(ann, room, words);
    expect(body).not.toContain("undefined");
    await act(ann, room, eventId).catch(() => undefined);
    await presses(ann, room);
    await rig.publish(update(room, { ...card("The end"), kind: MessageKind.TIME_UP, id }));
    await ann.sees(room, "the end", says("The end"));
    // After the end of the question, the same input is not explained.
    await act(bob, room, eventId).catch(() => undefined);
    await bob.say(room, "!play help");
    await rig.reports("a command", ({ channel, type }) => channel === room && type === "command");
    expect(await noticesIn(room)).toBe(1);
  });
});

test("an ephemeral message is shown as a notice, unless it asks a question", async () => {
  const { rig, synapse, ann } = scene;
  const room = await rig.room(ann);
  const cat = await synapse.member("cat");
  await ann.invite(room, cat.id);
  await cat.join(room);
  await cat.say(room, "!play help");
  await rig.reports("the command", ({ user }) => user === cat.id);
  await rig.publish(
    ephemeral(room, cat.id, card("Locked in")),
    ephemeral(room, cat.id, card("Sure?", "Yes")),
  );
  const direct = await cat.directRoomWith(rig.id);
  const receipt = await cat.sees(direct, "the receipt", says("Locked in"));
  const asked = await cat.sees(direct, "the question", says("Sure?"));
  expect([receipt.msgtype, asked.msgtype]).toEqual(["m.notice", "m.text"]);
});

describe("in a direct room, the bridge explains where games are played", () => {
  test.each(["hello", "help", "1", "!play"])("%s", async (text) => {
    const { rig, synapse, ann } = scene;
    const name = `dan${text.replaceAll(/\W/g, "-")}`;
    const dan = await synapse.member(name);
    const shared = await rig.room(ann, { name: `Quiz of ${name}` });
    await rig.room(ann, { name: "Secret room" });
    await ann.invite(shared, dan.id);
    await dan.join(shared);
    const direct = await dan.createRoom({ is_direct: true, preset: "trusted_private_chat" }, rig.id);
    await until("the bridge has joined", async () => (await dan.membershipOf(direct, rig.id)) === "join");
    await dan.say(direct, text);
    const { body } = await notice(dan, direct, "To play, type !play in ");
    expect(body).toContain(`in Quiz of ${name}.`);
    expect(body).not.toContain("Secret room");
    // The explanation is not repeated for each message.
    await dan.say(direct, "hello again");
    await rig.reports(
      "the text",
      ({ channel, text: said }) => channel === `dm:${dan.id}` && said === "hello again",
    );
    await dan.say(shared, "!play help");
    await rig.reports("the command", ({ channel }) => channel === shared);
    expect((await dan.messages(direct)).filter(isNotice)).toHaveLength(1);
  });

  test("to a member who shares no room with the bridge", async () => {
    const { rig, synapse } = scene;
    const eve = await synapse.member("eve");
    const direct = await eve.createRoom({ is_direct: true, preset: "trusted_private_chat" }, rig.id);
    await until("the bridge has joined", async () => (await eve.membershipOf(direct, rig.id)) === "join");
    await eve.say(direct, "hello");
    await notice(eve, direct, "To play, invite me to a room, and type !play there.");
  });
});

test("two bridges in a room do not answer each other, and do not read notices", async () => {
  const { rig, ann, bob, synapse, service } = scene;
  const { room } = await openQuestion();
  const other = await startRig(service, synapse, { account: "other", settings: { COMMAND_WORD: "fun" } });
  await ann.invite(room, other.id);
  await until("the other bridge has joined", async () => (await ann.membershipOf(room, other.id)) === "join");
  await bob.send(room, "m.room.message", { msgtype: "m.notice", body: "!play start" });
  const id = await idOf(other.publish(create(room, card("2", "Oslo", "Bern"))));
  await ann.sees(room, "the question of the other bridge", ({ sender }) => sender === other.id);
  await other.publish(update(room, { ...card("1", "Oslo", "Bern"), id }));
  await ann.sees(room, "the update", ({ sender, body }) => sender === other.id && body.startsWith("1\n"));
  await ann.say(room, "!play help");
  await ann.say(room, "!fun help");
  for (const each of [rig, other]) {
    await each.reports("a command", ({ channel, type }) => channel === room && type === "command");
    const reported = each.reported().filter(({ channel }) => channel === room);
    expect(reported.map(({ user, text }) => [user, text])).toEqual([[ann.id, "help"]]);
  }
  expect(
    (await ann.messages(room)).filter(({ msgtype }) => msgtype === "m.notice").map(({ sender }) => sender),
  ).toEqual([bob.id, other.id]);
  await other.close();
});

test("a bridge that was kicked and invited again continues the game", async () => {
  const { rig, ann } = scene;
  const { room, id, eventId } = await openQuestion();
  const path = `rooms/${encodeURIComponent(room)}/kick`;
  await ann.call("POST", path, { user_id: rig.id, reason: "too loud" });
  const [missed] = await rig.publish(update(room, { ...card("Missed"), id }));
  await until("the update is dropped", () =>
    rig.bridge.output().includes(`${published(missed).eventId} was dropped`),
  );
  const ofRoom = (line: object) => JSON.stringify(line).includes(room);
  const removed = () => rig.bridge.logged("removed from a room: to play there, invite the bridge again");
  await until("the log says who removed it", () => removed().some(ofRoom));
  expect(removed().filter(ofRoom)).toEqual([expect.objectContaining({ by: ann.id, reason: "too loud" })]);
  await ann.invite(room, rig.id);
  await until("the bridge has joined", async () => (await ann.membershipOf(room, rig.id)) === "join");
  await rig.publish(update(room, { ...card("The end"), id }));
  const message = await ann.sees(room, "the end", says("The end"));
  expect(message.eventId).toBe(eventId);
});

test("the bridge says that the game is over when its room becomes encrypted", async () => {
  const { rig, ann } = scene;
  const { room } = await openQuestion();
  await ann.setState(room, "m.room.encryption", { algorithm: "m.megolm.v1.aes-sha2" });
  const { body } = await notice(ann, room, "Game over");
  expect(body).toContain("create a room without end-to-end encryption, and invite me there");
  await until("the bridge has left", async () => (await ann.membershipOf(room, rig.id)) === "leave");
});
