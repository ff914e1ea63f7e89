import { create, update } from "../../../../test/harness/contents";
import { sharedService } from "../../../../test/harness/shared-service";
import { card, idOf, keysOf, startScene } from "../harness/scene";

const scene = startScene(sharedService());
const { says, seesKeycaps } = scene;

test("a member's keycap reaction presses a button once, and the bridge then removes the reaction", async () => {
  const { rig, ann, bob } = scene;
  const room = await rig.room(ann);
  await bob.join(await ann.invite(room, bob.id).then(() => room));
  const messageId = await idOf(rig.publish(create(room, card("**Pick** <one>", "Paris", "Rome"))));
  const message = await seesKeycaps(room, "Pick", "1️⃣", "2️⃣");
  expect(message.msgtype).toBe("m.text");
  expect(message.body).toBe("Pick <one>\n\n1️⃣ Paris\n2️⃣ Rome");
  expect(message.html).toBe("<p><strong>Pick</strong> &lt;one&gt;</p><p>1️⃣ Paris<br>2️⃣ Rome</p>");

  await bob.react(room, message.eventId, "2️⃣");
  await rig.reports("a press", ({ user, action }) => user === bob.id && action === "do Rome");
  await ann.sees(
    room,
    "no reaction of bob",
    (each) => says("Pick")(each) && keysOf(each, bob.id).length === 0,
  );
  await bob.react(room, message.eventId, "1⃣");
  await ann.react(room, message.eventId, "👍");
  await ann.react(room, message.eventId, "3️⃣");
  await rig.reports("another press", ({ user, action }) => user === bob.id && action === "do Paris");
  const presses = rig.reported().filter((report) => report.messageId === messageId);
  expect(presses.map(({ type, action, user }) => [type, action, user])).toEqual([
    ["action", "do Rome", bob.id],
    ["action", "do Paris", bob.id],
  ]);
});

test("without the power to redact, the bridge does not remove reactions, and retracting a reaction does not press the button again", async () => {
  const { rig, ann } = scene;
  const room = await rig.room(ann, { isPowerful: false });
  await rig.publish(create(room, card("Choose", "Yes", "No")));
  const { eventId } = await seesKeycaps(room, "Choose", "1️⃣", "2️⃣");
  const reaction = await ann.react(room, eventId, "1️⃣");
  await rig.reports("a press", ({ channel }) => channel === room);
  await ann.redact(room, reaction);
  await ann.react(room, eventId, "2️⃣");
  await rig.reports("another press", ({ channel, action }) => channel === room && action === "do No");
  const message = await ann.sees(room, "the reaction", (each) => keysOf(each, ann.id).length === 1);
  expect(keysOf(message, ann.id)).toEqual(["2️⃣"]);
  expect(rig.reported().filter(({ channel }) => channel === room)).toHaveLength(2);
});

test("an update edits the message, keeps the keycaps that still apply, and removes the others", async () => {
  const { rig, ann } = scene;
  const room = await rig.room(ann);
  const id = await idOf(rig.publish(create(room, card("Round one", "A", "B", "C"))));
  const { eventId } = await seesKeycaps(room, "Round one", "1️⃣", "2️⃣", "3️⃣");
  await rig.publish(update(room, { ...card("Round two", "D", "E"), id }));
  await seesKeycaps(room, "Round two", "1️⃣", "2️⃣");
  await rig.publish(update(room, { ...card("The end"), id }));
  await seesKeycaps(room, "The end");
  // The bridge finds its keycaps again after a crash.
  await rig.publish(update(room, { ...card("Round three", "F", "G"), id }));
  await seesKeycaps(room, "Round three", "1️⃣", "2️⃣");
  // Some clients show an edit as a message, and let members react to the edit.
  const edit = (await ann.events(room)).findLast(({ content }) =>
    String(content["body"]).startsWith("* Round three"),
  );
  await ann.react(room, String(edit?.event_id), "2️⃣");
  await rig.reports("a press", ({ channel, action }) => channel === room && action === "do G");
  await rig.restart();
  await rig.publish(update(room, { ...card("Over", "H"), id }));
  const message = await seesKeycaps(room, "Over", "1️⃣");
  expect(message.eventId).toBe(eventId);
  const sent = (await ann.events(room)).filter(
    ({ type, sender }) => type === "m.reaction" && sender === rig.id,
  );
  // The first message needed three keycaps, and round three needed two more: the bridge sent each of them only once.
  expect(sent).toHaveLength(5);
});

test("choices after the ninth are chosen by typing their number, and links are shown in the text", async () => {
  const { rig, ann } = scene;
  const room = await rig.room(ann);
  const labels = Array.from({ length: 12 }, (_, i) => `Choice ${i + 1}`);
  const many = card("Many", ...labels);
  const link = {
    label: "Read more",
    press: { $case: "url" as const, value: "https://example.org/?a=1&b=2" },
  };
  await rig.publish(create(room, { ...many, rows: [...(many.rows ?? []), { buttons: [link] }] }));
  const nine = Array.from({ length: 9 }, (_, i) => `${i + 1}️⃣`);
  const message = await seesKeycaps(room, "Many", ...nine);
  expect(message.body).toContain("9️⃣ Choice 9\n!10 Choice 10\n!11 Choice 11\n!12 Choice 12");
  expect(message.body).toContain("🔗 Read more (https://example.org/?a=1&b=2)");
  expect(message.html).toContain('🔗 <a href="https://example.org/?a=1&amp;b=2">Read more</a>');
  await ann.say(room, "!12");
  await ann.say(room, "!3");
  await rig.reports("a typed choice", ({ channel, action }) => channel === room && action === "do Choice 12");
  await rig.reports("a typed choice", ({ channel, action }) => channel === room && action === "do Choice 3");
  await ann.say(room, "!13");
  const hint = await ann.sees(room, "a hint", says("no choice 13"));
  expect(hint.msgtype).toBe("m.notice");
});

test("text in a room is reported only while a prompt waits for an answer, and a reply is reported with the prompt's id", async () => {
  const { rig, ann } = scene;
  const room = await rig.room(ann);
  await ann.say(room, "just a chat");
  const id = await idOf(rig.publish(create(room, { ...card("Which city?"), awaitsReply: true })));
  const { eventId } = await ann.sees(room, "the prompt", says("Which city?"));
  await ann.say(room, "Oslo");
  await ann.reply(room, eventId, "Bergen");
  await rig.reports("the reply", ({ channel, replyTo }) => channel === room && replyTo === id);
  await rig.publish(update(room, { ...card("Thank you"), id }));
  await ann.sees(room, "the thanks", says("Thank you"));
  await ann.say(room, "chat again");
  await ann.say(room, "!play");
  await rig.reports("a command", ({ channel, type }) => channel === room && type === "command");
  const texts = rig.reported().filter(({ channel }) => channel === room);
  expect(texts.map(({ type, text, replyTo }) => [type, text, replyTo])).toEqual([
    ["message", "Oslo", ""],
    ["message", "Bergen", id],
    ["command", "", ""],
  ]);
});
