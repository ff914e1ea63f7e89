import type { HttpClient } from "../../check/http-client";
import { createEventMaker } from "../../check/events/event-maker";
import type { ShownEvent } from "../../check/events/shown-message";
import { createObservedChat } from "../../check/events/observed-chat";
import { HANG_MS } from "../../../test/harness/wait";

const make = createEventMaker({ workspace: "a workspace", channel: "c1", user: "u1" });
const IMAGE = "https://example.com/image.png";
const LINK = { label: "B", url: "https://example.com/" };
const ROWS = [[{ label: "A", action: "a" }, LINK], [{ label: "C", action: "c" }]];
const LOOKS = { buttons: ROWS, image: IMAGE };

const plain = make.create("a create");
const looked = make.create("a create with looks", LOOKS);
const dm = make.dm("a DM with looks", LOOKS);
const bare = make.update(looked, "an update");
const dmUpdate = make.update(dm, "an update of a DM");
const ephemeral = make.ephemeral("an ephemeral");

/**
 * Returns a chat whose observations are `looks`, in order. Further observations repeat the last of `looks`. Each call
 * of the chat's method `shows` makes only one observation.
 */
const chatOf = (...looks: readonly (readonly object[])[]) => chatWithin(-1, ...looks);

function chatWithin(withinMs: number, ...looks: readonly (readonly object[])[]) {
  let count = 0;
  const client: HttpClient = {
    call: async () => {
      const messages = looks[Math.min(count++, looks.length - 1)];
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ messages })), ms: 1 };
    },
    close: () => undefined,
  };
  return createObservedChat({ url: new URL("http://localhost/"), client, secrets: ["s"], withinMs });
}

const shown = (event: ShownEvent, fields: object) => ({ channel: "c1", text: event.message.text, ...fields });
const DM = { channel: "dm:u1" };

test.each<[string, ShownEvent, object]>([
  ["a create without optional fields", looked, {}],
  ["a create for everybody", plain, { to: null }],
  ["a create with its buttons and its image", looked, { buttons: ["A", "B", "C"], image: IMAGE }],
  ["a create with null for its missing buttons and image", plain, { buttons: null, image: null }],
  ["a DM for everybody in the DM", dm, { ...DM, to: null }],
  ["a DM for its member alone", dm, { ...DM, to: "u1" }],
  ["an update of a DM for its member alone", dmUpdate, { ...DM, to: "u1" }],
  ["an update without buttons and image", bare, { buttons: [], image: null }],
  ["an ephemeral for its member alone", ephemeral, { to: "u1" }],
  ["an ephemeral in a chat that cannot show it to one member alone", ephemeral, { to: null }],
  ["an ephemeral shown as a DM", ephemeral, { ...DM, to: "u1" }],
])("an observation of %s is accepted", async (_what, event, fields) => {
  await chatOf([shown(event, fields)]).shows(event);
});

test.each<[string, ShownEvent, object, RegExp]>([
  ["an ephemeral in another member's DM", ephemeral, { channel: "dm:u2" }, /in dm:u2, not in c1 or dm:u1/],
  ["an update for one member alone", bare, { to: "u1" }, /to "u1" alone, not to everybody/],
  ["a DM for another member", dm, { ...DM, to: "u2" }, /to "u2" alone, not to u1/],
  ["an update of a DM for another member", dmUpdate, { ...DM, to: "u2" }, /to "u2" alone, not to u1/],
  ["a create with null for its buttons", looked, { buttons: null }, /with no buttons, not with the buttons/],
  [
    "a create with its buttons in another order",
    looked,
    { buttons: ["A", "C", "B"] },
    /the buttons \["A","C","B"\], not/,
  ],
  [
    "a button that is not in the event",
    plain,
    { buttons: ["Report"] },
    /the buttons \["Report"\], not with no buttons/,
  ],
  ["the old image after an update", bare, { image: IMAGE }, /not with no image/],
])("an observation of %s is reported as a fault", async (_what, event, fields, told) => {
  await expect(chatOf([shown(event, fields)]).shows(event)).rejects.toThrow(told);
});

test.each<[string, object, RegExp]>([
  ["buttons", { buttons: ["A", "B", "C"] }, /with no buttons, not/],
  ["image", { image: IMAGE }, /with no image, not/],
])(
  "an endpoint that gives the field %s for one message must give it for all messages",
  async (_field, fields, told) => {
    const without = shown(dm, DM);
    await chatOf([without]).shows(dm);
    await expect(chatOf([shown(looked, fields), without]).shows(dm)).rejects.toThrow(told);
    // Once the endpoint has given a field, the field is always checked, even if the message with the field is no longer
    // shown.
    const chat = chatOf([shown(looked, fields)], [without]);
    await chat.read();
    await expect(chat.shows(dm)).rejects.toThrow(told);
  },
);

// time: ordering
test("buttons and an image may be shown a little later than the text", async () => {
  const text = shown(looked, { buttons: [], image: null });
  const all = shown(looked, { buttons: ["A", "B", "C"], image: IMAGE });
  await chatWithin(HANG_MS, [], [text], [all]).shows(looked);
});

test.each<[string, object, RegExp]>([
  ["a channel that is a number", { channel: 1 }, /did not answer with \{"messages":/],
  ["no text", { text: undefined }, /did not answer with \{"messages":/],
  ["the whole user in `to`", { to: { id: "u1" } }, /"to" is neither a user's id nor null/],
  ["rows of buttons", { buttons: [["A"]] }, /"buttons" is not a list of labels/],
  ["a number instead of buttons", { buttons: 3 }, /"buttons" is not a list of labels/],
  ["an image that is an object", { image: {} }, /"image" is neither a URI nor null/],
])("an observation with %s is malformed", async (_what, fields, told) => {
  await expect(chatOf([shown(plain, fields)]).read()).rejects.toThrow(told);
});

test.each([
  [{ messages: [] }, true],
  [{ messages: [], edits: true }, true],
  [{ messages: [], edits: false }, false],
])("the observation %j says whether the chat supports edits", async (answer, hasEdits) => {
  const call = async () => ({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(answer)), ms: 1 });
  const client: HttpClient = { call, close: () => undefined };
  const chat = createObservedChat({ url: new URL("http://localhost/"), client, secrets: ["s"], withinMs: 0 });
  await chat.read();
  expect(chat.hasEdits).toBe(hasEdits);
});
