import { assert, array, integer, property } from "fast-check";
import type { Message } from "../../bridge/events";
import { sign } from "../../bridge/signature";
import { createObservation } from "../../demo/chat/link/observation";
import { createRoom } from "../../demo/chat/room/room";

const SECRET = "the secret of a workspace";
const MOST_BYTES = 1024 * 1024;

function messageOf(text: string): Message {
  return { id: "msg_1", kind: "card", text, buttons: [], image: null, awaitsReply: false, data: null };
}

/** What is told of a room that shows these texts, oldest first. */
function told(texts: readonly string[]): { readonly body: string; readonly texts: readonly string[] } {
  const room = createRoom([{ id: "general", name: "general" }]);
  for (const text of texts) room.show("general", messageOf(text));
  const { body } = createObservation(room, SECRET)({ "service-signature": sign("", SECRET) }, "");
  const { messages } = JSON.parse(body) as { messages: { text: string }[] };
  return { body, texts: messages.map(({ text }) => text) };
}

test("of a long chat the end is told, oldest first, and never much over 1 MiB", () => {
  const lengths = array(integer({ min: 0, max: 200_000 }), { maxLength: 20 });
  assert(
    property(lengths, (each) => {
      const texts = each.map((length, i) => `${i} ${"ü".repeat(length)}`);
      const { body, texts: end } = told(texts);
      expect(end).toEqual(texts.slice(texts.length - end.length));
      expect(Buffer.byteLength(body)).toBeLessThan(MOST_BYTES + 1024);
      // Nothing is left out that would fit.
      const next = texts.at(-end.length - 1);
      if (end.length < texts.length) {
        expect(Buffer.byteLength(body) + Buffer.byteLength(next ?? "")).toBeGreaterThan(MOST_BYTES - 1024);
      }
    }),
    { numRuns: 30 },
  );
});

test("an edited message stays where it was, and is told as it is now", () => {
  const room = createRoom([{ id: "general", name: "general" }]);
  const [first] = ["first", "second"].map((text) => room.show("general", messageOf(text)));
  room.edit(first ?? 0, messageOf("first, edited"));
  const texts = room.allPosts().map((post) => (post.by === "service" ? post.message.text : ""));
  expect(texts).toEqual(["first, edited", "second"]);
});

test("while a secret is rotated either one may ask", () => {
  const observe = createObservation(createRoom([]), ["the new secret", "the old secret"]);
  const ask = (...secrets: string[]) => observe({ "service-signature": sign("a=1", secrets) }, "a=1").status;
  expect([ask("the new secret"), ask("the old secret"), ask("another")]).toEqual([200, 200, 401]);
});
