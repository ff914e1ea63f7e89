import { ID_MAX_CHARACTERS } from "../../../contract/numbers";
import { Broken, type Rule } from "../rule";
import { alterationOf, inCodePoints, type Found } from "../text-alterations";
import { channelOf } from "./event-maker";
import type { EventTarget } from "./event-target";
import type { ShownEvent } from "./shown-message";
import type { ObservedChat } from "./observed-chat";
import { EMOJI, isShown, LABEL_SAMPLE, partOf, SAMPLES, textOf, type TextSample } from "./text-samples";

/** Code points of the long texts: the maximum of an inbound text. Most chats have a lower maximum. */
const LONG_CHARACTERS = 4_000;

/** Ids with characters that programs often alter. */
const IDS = [
  ` Chat "ß" \\ ${"é".normalize("NFC")} ${"é".normalize("NFD")} \u{a0}👩‍🚀 `,
  EMOJI.repeat(ID_MAX_CHARACTERS),
];

/** Rules about the characters of texts and ids. */
export const TEXT_RULES: readonly Rule<EventTarget>[] = [
  {
    id: "text-unchanged",
    says: "Text is shown with exactly the characters that were sent, whatever they are; only its markup may be rendered.",
    fix: "decode the body as UTF-8, and pass the text to the chat without changing any character",
    async judge({ make, taken, chat, settled, createdFirst }) {
      const buttons = [[{ label: LABEL_SAMPLE, action: "check:yes" }]];
      const create = make.create(textOf(SAMPLES.letters), { buttons });
      const before = await createdFirst(make.create("to be updated"));
      const sent: readonly (readonly [ShownEvent, readonly TextSample[]])[] = [
        [create, SAMPLES.letters],
        [make.update(before, textOf(SAMPLES.emoji)), SAMPLES.emoji],
        [make.dm(textOf(SAMPLES.direction)), SAMPLES.direction],
        [make.ephemeral(textOf(SAMPLES.symbols)), SAMPLES.symbols],
      ];
      for (const [event] of sent) await taken(event, `a ${event.type} with characters outside ASCII`);
      if (chat === undefined) return { unchecked: "whether the texts are shown unchanged" };
      // A chat can split a text into several messages, so the check waits until all parts are shown.
      await settled(chat);
      const shown: ShownSample[] = [];
      for (const [event, samples] of sent) {
        if ((await chat.find(event.message)) === undefined) await chat.shows(event);
        const text = await chat.textOf(event.message);
        samples.forEach((sample, i) => shown.push(judged(event, sample, partOf(text, samples, i))));
      }
      throwIfAltered(shown);
      await chat.shows(create);
      return { note: `${shown.length} kinds of characters` };
    },
  },
  {
    id: "long-text",
    says: `A text of ${LONG_CHARACTERS} characters is shown; a cut or a split never falls within a character.`,
    fix: "split or cut a text that is too long for your chat, and count code points, not UTF-16 units or bytes",
    async judge({ make, taken, chat, settled }) {
      // The second text is shifted by one UTF-16 unit: if a chat cuts both texts after the same number of units, one of
      // the cuts falls within an emoji.
      const events = ["", "x"].map((shift) => make.create(shift + EMOJI.repeat(LONG_CHARACTERS - 1)));
      for (const event of events) await taken(event, "a message.create with a long text");
      if (chat === undefined) return { unchecked: "whether the texts are shown" };
      await settled(chat);
      for (const event of events) {
        await chat.shows(event);
        const shown = await chat.textOf(event.message);
        const at = shown.isWellFormed() ? shown.indexOf("\u{fffd}") : shown.search(LONE_SURROGATE);
        if (at === -1) continue;
        const cause = "the text was cut within a character";
        throw new Broken(
          `a text of ${LONG_CHARACTERS} characters is shown with ${inCodePoints(shown.slice(at, at + 1))}, which was not sent`,
          undefined,
          { cause },
        );
      }
      return undefined;
    },
  },
  {
    id: "ids-unchanged",
    says: "The ids of channels and users are used exactly as the bridge sent them.",
    fix: "treat ids as opaque texts: do not trim, cut, normalize or convert them",
    async judge({ make, taken, chat, isPlaceGiven }) {
      // If the command line gives ids, the chat may be a real chat, in which the unusual ids of this rule do not exist.
      if (isPlaceGiven) return { note: "only the given --channel and --user" };
      if (chat === undefined) return { unchecked: "whether messages are shown where they belong" };
      const events = IDS.flatMap((id) => [
        { ...make.create("in a channel with an unusual id"), channel: id },
        { ...make.dm("to a user with an unusual id"), user: id },
      ]);
      try {
        for (const event of events) await taken(event, `a ${event.type} with an unusual id`);
      } catch (error) {
        if (error instanceof Broken) return { unchecked: NO_IDS };
        throw error;
      }
      for (const event of events) {
        if ((await placeOf(chat, event)) === undefined) return { unchecked: NO_IDS };
      }
      return undefined;
    },
  },
];

const NO_IDS =
  "the chat accepts no channels and users that it does not have: give --channel and --user ids that exist in your chat";
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/**
 * Resolves to the channel where an event is shown; undefined if the event is not shown. Throws Broken if the channel is
 * wrong.
 */
async function placeOf(chat: ObservedChat, event: ShownEvent): Promise<string | undefined> {
  const found = (await chat.find(event.message))?.channel;
  const sent = "channel" in event ? event.channel : channelOf(event);
  if (found === undefined || found === sent) return found;
  const told = `the message of the channel ${JSON.stringify(sent)} is shown in ${JSON.stringify(found)}`;
  throw altered(told, [{ forms: [sent], found }]);
}

/** A sample as it was sent and as it is shown. */
interface ShownSample extends Found {
  readonly what: string;
  readonly type: ShownEvent["type"];
  readonly isRight: boolean;
}

function judged({ type }: ShownEvent, sample: TextSample, found = ""): ShownSample {
  const { what, text, rendered = text } = sample;
  return { what, type, forms: [rendered, text], found, isRight: isShown(found, sample) };
}

function throwIfAltered(shown: readonly ShownSample[]): void {
  const [first, ...others] = shown.filter(({ isRight }) => !isRight);
  if (first === undefined) return;
  const { what, type, forms, found } = first;
  const also = others.length === 0 ? "" : `; also altered: ${others.map((other) => other.what).join(", ")}`;
  const points = `sent ${inCodePoints(forms[0] ?? "")}, shown ${inCodePoints(found)}`;
  throw altered(`in a ${type}, the sample of ${what} is altered: ${points}${also}`, shown);
}

function altered(message: string, texts: readonly Found[]): Broken {
  const alteration = alterationOf(texts);
  return new Broken(message, undefined, { cause: alteration && `the text was ${alteration}` });
}
