import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create, dm, update } from "../../../../test/harness/contents";
import { sharedService } from "../../../../test/harness/shared-service";
import { until } from "../../../../test/harness/wait";
import { startEncryptedMember, type EncryptedMember } from "../harness/encrypted-member";
import type { RoomMessage } from "../harness/fold-room";
import type { MatrixMember } from "../harness/matrix-member";
import { card, idOf, startScene } from "../harness/scene";
import { SYNAPSE_WITHIN_MS } from "../harness/synapse";

const scene = startScene(sharedService(), {
  MATRIX_ENCRYPTION: "on",
  MATRIX_IMAGE_ALLOW: "127.0.0.1/32",
});
const { says } = scene;
const ENCRYPTION = { algorithm: "m.megolm.v1.aes-sha2" };

let eve: MatrixMember;
/** The encrypting client of the member Eve. */
let client: EncryptedMember;
beforeAll(async () => {
  eve = await scene.synapse.member("eve");
  client = await startEncryptedMember(scene.synapse, "eve", "FIRST");
}, SYNAPSE_WITHIN_MS);
afterAll(() => client?.close());

/**
 * Creates an encrypted room that Eve owns. Resolves once the bridge has joined, and Eve's client knows that it has
 * joined.
 */
async function encryptedRoom(): Promise<string> {
  const { rig } = scene;
  const encryption = { type: "m.room.encryption", state_key: "", content: ENCRYPTION };
  const room = await eve.createRoom({ name: "Secrets", initial_state: [encryption] }, rig.id);
  await until("the bridge has joined", async () => (await eve.membershipOf(room, rig.id)) === "join");
  await eve.promote(room, rig.id);
  await client.knows(room, rig.id);
  return room;
}

/** The bridge's messages in a room as the homeserver stores them. */
const stored = async (room: string) =>
  (await eve.events(room)).filter(
    ({ sender, type }) => sender === scene.rig.id && /^m\.room\.(?:message|encrypted)$/.test(type),
  );

const wasEdited = ({ edits }: RoomMessage) => edits > 0;

test("in an encrypted room, members run commands, press buttons and answer prompts", async () => {
  const { rig } = scene;
  const room = await encryptedRoom();
  await client.say(room, "!play start");
  expect(await rig.reports("the command", ({ channel }) => channel === room)).toMatchObject({
    type: "command",
    text: "start",
    user: eve.id,
    channelName: "Secrets",
  });
  const id = await idOf(rig.publish(create(room, card("Capital of Italy?", "Milan", "Rome"))));
  const question = await client.sees(room, "the question", says("Capital of Italy?"));

  await client.react(room, question.eventId, "2️⃣");
  await rig.reports(
    "a press by reaction",
    ({ action, messageId }) => action === "do Rome" && messageId === id,
  );
  await client.say(room, "!1");
  await rig.reports("a typed press", ({ action }) => action === "do Milan");

  await rig.publish(update(room, { ...card("It was Rome."), id }));
  const edited = await client.sees(
    room,
    "the edit",
    (message) => says("It was Rome.")(message) && wasEdited(message),
  );
  expect(edited.eventId).toBe(question.eventId);

  const prompt = await idOf(rig.publish(create(room, { ...card("Which river?"), awaitsReply: true })));
  const { eventId } = await client.sees(room, "the prompt", says("Which river?"));
  await client.reply(room, eventId, "Tiber");
  await rig.reports("the answer", ({ text, replyTo }) => text === "Tiber" && replyTo === prompt);

  const events = await stored(room);
  expect(events.map(({ type }) => type)).toEqual(Array(3).fill("m.room.encrypted"));
  expect(JSON.stringify(events)).not.toMatch(/Capital|Rome|river/);
});

test("a private message opens an encrypted direct room, in which the member can answer", async () => {
  const { rig } = scene;
  const room = await encryptedRoom();
  await client.say(room, "!play help");
  await rig.reports("the command", ({ channel }) => channel === room);
  await rig.publish(dm(eve.id, card("Your role?", "Spy", "Guest")));
  const direct = await client.acceptInvite();
  // The bridge wrote the message before the member accepted the invite.
  await client.sees(direct, "the message", says("Your role?"));
  expect((await stored(direct)).map(({ type }) => type)).toEqual(["m.room.encrypted"]);
  await client.knows(direct, rig.id);
  await client.say(direct, "2");
  await rig.reports("a press", ({ channel, action }) => channel === `dm:${eve.id}` && action === "do Guest");
});

test("a direct room with a member whose clients do not encrypt is not encrypted", async () => {
  const { rig, ann } = scene;
  const room = await rig.room(ann);
  await ann.say(room, "!play help");
  await rig.reports("the command", ({ user }) => user === ann.id);
  await rig.publish(dm(ann.id, card("Hello")));
  const direct = await ann.directRoomWith(rig.id);
  await ann.sees(direct, "the message", says("Hello"));
});

test("a bridge that is killed keeps its device, posts nothing twice, and reads what was written meanwhile", async () => {
  const { rig } = scene;
  const room = await encryptedRoom();
  await client.say(room, "!play first");
  await rig.reports("the command", ({ channel, text }) => channel === room && text === "first");
  const id = await idOf(rig.publish(create(room, card("Question 1", "Yes", "No"))));
  const { eventId } = await client.sees(room, "the question", says("Question 1"));
  const devices = await client.devicesOf(rig.id);
  expect(Object.keys(devices)).toHaveLength(1);

  await rig.bridge.stop("SIGKILL");
  await client.say(room, "!2");
  await client.say(room, "!play second");
  await rig.publish(create(room, card("Question 2", "Yes")), update(room, { ...card("Closed"), id }));
  await rig.restart();
  await rig.reports("the press", ({ action, messageId }) => action === "do No" && messageId === id);
  await rig.reports("the command", ({ channel, text }) => channel === room && text === "second");
  await client.sees(room, "the next question", says("Question 2"));
  await client.sees(room, "the edit", (message) => message.eventId === eventId && says("Closed")(message));

  await rig.restart();
  await rig.publish(create(room, card("Question 3")));
  await client.sees(room, "the last question", says("Question 3"));
  const bodies = (await client.messages(room)).filter(scene.fromBridge).map(({ body }) => body);
  expect(bodies.map((body) => body.split("\n")[0])).toEqual(["Closed", "Question 2", "Question 3"]);
  expect((await client.events(room)).some(({ isUndecryptable }) => isUndecryptable)).toBe(false);
  expect(await client.devicesOf(rig.id)).toEqual(devices);
});

test("a member's new device can read the next message", async () => {
  const { rig, synapse } = scene;
  const room = await encryptedRoom();
  await rig.publish(create(room, card("Before")));
  await client.sees(room, "the first message", says("Before"));
  const second = await startEncryptedMember(synapse, "eve", "SECOND");
  try {
    await second.knows(room, rig.id);
    await rig.publish(create(room, card("After", "Yes")));
    const { eventId } = await second.sees(room, "the next message", says("After"));
    await second.reply(room, eventId, "!1");
    await rig.reports(
      "a press from the new device",
      ({ channel, action }) => channel === room && action === "do Yes",
    );
  } finally {
    await second.close();
  }
});

test("a game continues when its room becomes encrypted", async () => {
  const { rig } = scene;
  const room = await rig.room(eve);
  const id = await idOf(rig.publish(create(room, card("Open question", "Yes", "No"))));
  await client.sees(room, "the question", says("Open question"));
  await eve.setState(room, "m.room.encryption", ENCRYPTION);
  await client.knows(room, rig.id);
  await client.say(room, "!2");
  await rig.reports("the press", ({ channel, action }) => channel === room && action === "do No");
  await rig.publish(update(room, { ...card("Secret answer"), id }), create(room, card("Secret question")));
  await client.sees(room, "the edit", (message) => says("Secret answer")(message) && wasEdited(message));
  await client.sees(room, "the next question", says("Secret question"));
  expect(JSON.stringify(await stored(room))).not.toMatch(/Secret/);
});

test("an image is encrypted", async () => {
  const { rig } = scene;
  const png = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "image/png" }).end(png);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const room = await encryptedRoom();
  await rig.publish(create(room, { ...card("A picture"), image: `http://127.0.0.1:${port}/a.png` }));
  await client.sees(room, "the text", says("A picture"));
  const image = (await client.events(room)).find(({ content }) => content["msgtype"] === "m.image");
  expect(image?.content).not.toHaveProperty("url");
  expect(await client.download(image?.content["file"] as object)).toEqual([...png.subarray(0, 8)]);
  server.close();
});
