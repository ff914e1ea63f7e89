import { rmSync } from "node:fs";
import { create, dm, ephemeral, published, update } from "../../../../test/harness/contents";
import { sharedService } from "../../../../test/harness/shared-service";
import { until } from "../../../../test/harness/wait";
import type { RoomMessage } from "../harness/fold-room";
import type { MatrixMember } from "../harness/matrix-member";
import { startRig } from "../harness/matrix-rig";
import { card, idOf, startScene } from "../harness/scene";

const scene = startScene(sharedService());
const { says } = scene;

/** A member joins a room and runs the command. Resolves once the bridge has reported the command. */
async function speaks(member: MatrixMember, room: string): Promise<void> {
  const { rig, ann } = scene;
  await ann.invite(room, member.id);
  await member.join(room);
  await member.say(room, "!play help");
  await rig.reports("the command", ({ user }) => user === member.id);
}

test("a command is reported with the names of the member and the room", async () => {
  const { rig, ann } = scene;
  await ann.call("PUT", `profile/${encodeURIComponent(ann.id)}/displayname`, { displayname: "Ann Lee" });
  const room = await rig.room(ann, { name: "Quiz night" });
  await ann.say(room, "!PLAY  start trivia ");
  expect(await rig.reports("a command", ({ channel }) => channel === room)).toMatchObject({
    type: "command",
    text: "start trivia",
    user: ann.id,
    name: "Ann Lee",
    channelName: "Quiz night",
  });
});

test("direct messages and ephemeral messages go to one direct room, and texts in this room are reported", async () => {
  const { rig, ann, synapse } = scene;
  const room = await rig.room(ann);
  const cat = await synapse.member("cat");
  await speaks(cat, room);
  const id = await idOf(rig.publish(dm(cat.id, { ...card("Which topic?", "Any"), awaitsReply: true })));
  await rig.publish(ephemeral(room, cat.id, card("Only for you")));
  const direct = await cat.directRoomWith(rig.id);
  const { eventId } = await cat.sees(direct, "the prompt", says("Which topic?"));
  await cat.sees(direct, "the ephemeral message", says("Only for you"));
  await cat.say(direct, "Rivers");
  await rig.reports("a text", ({ channel, text }) => channel === `dm:${cat.id}` && text === "Rivers");
  await cat.reply(direct, eventId, "Lakes");
  await rig.reports("a reply", ({ text, replyTo }) => text === "Lakes" && replyTo === id);
  await cat.say(direct, "1");
  await rig.reports("a press", ({ channel, action }) => channel === `dm:${cat.id}` && action === "do Any");
  await cat.say(direct, "!play start");
  await cat.sees(direct, "a hint", says("Commands do not work here"));

  // A member who left the direct room gets a new one.
  await cat.leave(direct);
  await rig.publish(dm(cat.id, card("Come back")));
  const next = await cat.directRoomWith(rig.id);
  expect(next).not.toBe(direct);
  await cat.sees(next, "the message", says("Come back"));
  // An update edits the message in the room in which it was posted.
  await rig.publish(update(`dm:${cat.id}`, { ...card("Closed"), id }));
  await rig.publish(dm(cat.id, card("Afterwards")));
  await cat.sees(next, "the next message", says("Afterwards"));
  expect((await cat.messages(next)).some(says("Closed"))).toBe(false);
});

test("a member who was not reported gets no invite, and reported members still get messages after a restart", async () => {
  const { rig, ann, synapse } = scene;
  const room = await rig.room(ann);
  const [eve, fay] = [await synapse.member("eve"), await synapse.member("fay")];
  await speaks(fay, room);
  await rig.restart();
  const results = await rig.publish(
    dm(eve.id, card("Psst")),
    ephemeral(room, eve.id, card("Psst")),
    dm("@victim:evil.example", card("Psst")),
    dm(fay.id, card("Your turn")),
  );
  const direct = await fay.directRoomWith(rig.id);
  await fay.sees(direct, "the message", says("Your turn"));
  for (const result of results.slice(0, 3)) {
    const { eventId } = published(result);
    await until("the event is dropped", () =>
      rig.bridge.output().includes(`${eventId} was dropped: the bridge has never reported the member`),
    );
  }
  expect(await eve.newInvites()).toEqual([]);
});

test("a direct room that a member opens is used for the direct messages to the member", async () => {
  const { rig, synapse } = scene;
  const dan = await synapse.member("dan");
  const direct = await dan.createRoom({ is_direct: true, preset: "trusted_private_chat" }, rig.id);
  await until("the bridge has joined", async () => (await dan.membershipOf(direct, rig.id)) === "join");
  await dan.say(direct, "hello");
  await rig.reports(
    "a direct message",
    ({ channel, text }) => channel === `dm:${dan.id}` && text === "hello",
  );
  await rig.publish(dm(dan.id, card("Good morning")));
  await dan.sees(direct, "the answer", says("Good morning"));
});

test("a message for a room that the bridge was removed from is dropped, without delaying other rooms", async () => {
  const { rig, ann } = scene;
  const [gone, room] = [await rig.room(ann), await rig.room(ann)];
  await ann.call("POST", `rooms/${encodeURIComponent(gone)}/kick`, { user_id: rig.id });
  await rig.publish(create(gone, card("Never shown")), create(room, card("Shown")));
  await ann.sees(room, "the message", says("Shown"));
  await until("the message is dropped", () => rig.bridge.output().includes("M_FORBIDDEN"));
  // The cursor moves past the dropped message.
  await rig.publish(create(room, card("Shown too")));
  await ann.sees(room, "the next message", says("Shown too"));
});

test("a bridge that loses its state folder does not post messages again", async () => {
  const { ann, service, synapse } = scene;
  const lost = await startRig(service, synapse, { account: "forgetful" });
  const room = await lost.room(ann);
  const isOurs = ({ sender, body }: RoomMessage) => sender === lost.id && body.startsWith("Post");
  await lost.publish(create(room, card("Post 1", "Yes")), create(room, card("Post 2")));
  await ann.sees(room, "both messages", ({ body }) => body === "Post 2");
  await lost.bridge.stop("SIGKILL");
  rmSync(lost.environment.STATE_FOLDER, { recursive: true });
  await lost.restart();
  await lost.publish(create(room, card("Post 3")));
  await ann.sees(room, "the third message", ({ body }) => body === "Post 3");
  const bodies = (await ann.messages(room)).filter(isOurs).map(({ body }) => body);
  expect(bodies).toEqual(["Post 1\n\n1️⃣ Yes", "Post 2", "Post 3"]);
  await lost.close();
});

describe("encrypted rooms", () => {
  const ENCRYPTION = { algorithm: "m.megolm.v1.aes-sha2" };

  test("the bridge explains that it cannot play in an encrypted room, and leaves", async () => {
    const { rig, ann } = scene;
    const encryption = { type: "m.room.encryption", state_key: "", content: ENCRYPTION };
    const room = await ann.createRoom({ initial_state: [encryption] }, rig.id);
    const notice = await ann.sees(room, "the notice", says("encrypted"));
    expect(notice.msgtype).toBe("m.notice");
    await until("the bridge has left", async () => (await ann.membershipOf(room, rig.id)) === "leave");
    expect(rig.bridge.logged("left a room: it is encrypted, and MATRIX_ENCRYPTION is off")).toHaveLength(1);
  });

  test("the bridge leaves a room that becomes encrypted", async () => {
    const { rig, ann } = scene;
    const room = await rig.room(ann);
    await ann.setState(room, "m.room.encryption", ENCRYPTION);
    await ann.sees(room, "the notice", says("encrypted"));
    await until("the bridge has left", async () => (await ann.membershipOf(room, rig.id)) === "leave");
  });
});

test("the bridge rejects invites that its settings do not allow", async () => {
  const { ann, service, synapse } = scene;
  const inviteTo = async (account: string, allowed: (room: string) => string) => {
    const roomId = await ann.createRoom();
    const settings = { MATRIX_ALLOW_INVITES: allowed(roomId) };
    const further = await startRig(service, synapse, { account, settings });
    await ann.invite(roomId, further.id);
    const answered = await until("an answer to the invite", async () => {
      const membership = await ann.membershipOf(roomId, further.id);
      return membership !== "invite" && membership;
    });
    await further.close();
    return answered;
  };
  expect(await inviteTo("closed", () => "example.org, !other:example.org")).toBe("leave");
  expect(await inviteTo("listed", (room) => `example.org, ${room}`)).toBe("join");
  expect(await inviteTo("open", () => "*")).toBe("join");
});

test("events from before the first start are ignored, and events that arrived while the bridge was stopped are reported once", async () => {
  const { ann, service, synapse } = scene;
  const early = await synapse.member("early");
  const room = await ann.createRoom({}, early.id);
  await early.join(room);
  await ann.say(room, "!play too early");
  const late = await startRig(service, synapse, {
    account: "late",
    settings: { MATRIX_ACCESS_TOKEN: early.token },
  });
  await until("the bridge is connected", async () => (await late.bridge.health()).status === 200);
  await ann.say(room, "!play first");
  await late.reports("a command", ({ text }) => text === "first");
  await late.bridge.stop("SIGKILL");
  // The next sync omits most of these events, so the bridge fetches them.
  for (let i = 0; i < 130; i += 1) await ann.say(room, `!play ${i}`);
  await late.restart();
  await late.reports("the last command", ({ text }) => text === "129");
  await until("all reports", () => late.reported().length >= 131);
  const texts = late.reported().map(({ text }) => text);
  expect(texts).toEqual(["first", ...Array.from({ length: 130 }, (_, i) => String(i))]);
  await late.close();
});
