import { array, assert, property, string } from "fast-check";
import { createObservedChat } from "../../check/events/observed-chat";
import { createEventMaker } from "../../check/events/event-maker";
import { ALL_SAMPLES, isShown, partOf, SAMPLES, textOf } from "../../check/events/text-samples";
import {
  alterationOf,
  alterationsOf,
  hashedAlteration,
  inAsciiJson,
  signAltered,
} from "../../check/text-alterations";
import { verify } from "../../signature";

const GROUPS = Object.values(SAMPLES);
const SECRETS = ["a new secret", "an old secret"];

test("the samples contain characters of every class that occurs in chats, and every text is well-formed", () => {
  const classes = [/\p{L}\p{M}/u, /\p{Script=Han}/u, /\p{Script=Arabic}/u, /\u{200d}/u, /\p{RI}\p{RI}/u];
  const symbols = [
    /\p{EMod}/u,
    /\u{fe0f}/u,
    /[\u{2028}\u{2029}]/u,
    /\u{feff}/u,
    /\p{Co}/u,
    /\p{Cn}/u,
    /\u{fffd}/u,
  ];
  for (const each of [...classes, ...symbols]) expect(ALL_SAMPLES).toMatch(each);
  expect(ALL_SAMPLES.isWellFormed()).toBe(true);
  expect(ALL_SAMPLES.normalize("NFC")).not.toBe(ALL_SAMPLES);
  expect(ALL_SAMPLES.normalize("NFD")).not.toBe(ALL_SAMPLES);
});

test("every sample is found in the text of its group, regardless of the surrounding text", () => {
  assert(
    property(string(), string(), (before, after) => {
      for (const group of GROUPS) {
        const shown = `${before}\n${textOf(group)}${after}`;
        for (const [i, sample] of group.entries())
          expect(isShown(partOf(shown, group, i) ?? "", sample)).toBe(true);
      }
    }),
  );
});

test("if a program hashes an altered body, the check identifies the alteration, whichever secret the program uses", async () => {
  for (const alteration of alterationsOf(ALL_SAMPLES)) {
    for (const secret of SECRETS) {
      const hashed = await hashedAlteration(ALL_SAMPLES, async (alterations) => {
        const header = signAltered(ALL_SAMPLES, alterations, SECRETS);
        return verify(header, Buffer.from(alteration.alter(ALL_SAMPLES)), secret) === undefined;
      });
      expect(hashed?.alter(ALL_SAMPLES)).toEqual(alteration.alter(ALL_SAMPLES));
    }
  }
  expect(await hashedAlteration(ALL_SAMPLES, async () => false)).toBeUndefined();
});

test("if a single alteration explains all shown texts, the check names that alteration", () => {
  const found = (change: (text: string) => string) =>
    GROUPS.flat().map(({ text }) => ({ forms: [text], found: change(text) }));
  expect(alterationOf(found((text) => text.normalize("NFC")))).toBe("normalized to NFC");
  expect(alterationOf(found((text) => text.slice(0, 1)))).toBe("cut");
  expect(alterationOf(found(() => "x"))).toBeUndefined();
});

test("JSON that is escaped to ASCII is parsed to the same value as before", () => {
  assert(
    property(array(string({ unit: "binary" })), (texts) => {
      const ascii = inAsciiJson(JSON.stringify(texts));
      expect(ascii).toMatch(/^[ -~]*$/);
      expect(JSON.parse(ascii)).toEqual(texts);
    }),
  );
});

test("the check reads the whole text of a message, even if the chat splits it at spaces into several messages", async () => {
  const make = createEventMaker({ workspace: "w", channel: "c", user: "u" });
  const group = SAMPLES.emoji;
  const [first, second] = [make.create(textOf(group)), make.create("another")];
  const lines = first.message.text.split(/(?<=; )/).map((line) => ({ channel: "c", text: line.trim() }));
  const elsewhere = { channel: "dm:u", text: "in another conversation" };
  const messages = [
    ...lines.flatMap((line) => [line, elsewhere]),
    { channel: "c", text: second.message.text },
  ];
  const body = Buffer.from(JSON.stringify({ messages }));
  const chat = createObservedChat({
    url: new URL("http://localhost/observe"),
    client: { call: async () => ({ status: 200, headers: {}, body, ms: 0 }), close: () => undefined },
    secrets: SECRETS,
    withinMs: 0,
  });
  const shown = await chat.textOf(first.message);
  expect(shown).toBe(first.message.text.replace(/^chat-bridge-check /, ""));
  expect(lines.length).toBe(group.length + 1);
});
