import { UPDATE_HOLD_MS } from "../../../contract/numbers";
import { MESSAGE_KINDS } from "../../events";
import { Broken, type Rule } from "../rule";
import type { EventTarget } from "./event-target";

/** Milliseconds within which a correct bridge drops an update whose create does not arrive. */
const HOLD_OVER_MS = UPDATE_HOLD_MS + 2_000;
const MINUTE_MS = 60_000;
const LOOKS = { buttons: [[{ label: "Yes", action: "check:yes" }]], image: "https://example.com/image.png" };

export const OBSERVED_RULE: Rule<EventTarget> = {
  id: "observed",
  says: "A message is posted, and the observation endpoint lists it.",
  fix: "set --channel to a channel of your chat; answer with 200 and the JSON that --help shows, or omit --observe",
  isGate: true,
  async judge(target) {
    const { make, taken, chat } = target;
    if (chat === undefined) {
      return {
        unchecked: "there is no --observe, so only the requests and answers of the bridge are checked",
      };
    }
    try {
      await chat.read();
      const first = make.create("the first message");
      await taken(first, "a create");
      await chat.shows(first);
      return undefined;
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      // The check continues, but no longer observes the chat.
      target.chat = undefined;
      throw new Broken(error.message, error.fix, { ...error.more, judgeable: "all" });
    }
  },
};

/** Rules about the types and kinds of events. */
export const TYPE_RULES: readonly Rule<EventTarget>[] = [
  {
    id: "every-type",
    says: "Every type of event is accepted, and creates, DMs and ephemerals are shown where they belong.",
    fix: "handle message.create, message.update, message.ephemeral, dm.create and ping as in the table of the bridge guide",
    async judge({ make, taken, chat }) {
      const create = make.create("a create", {
        buttons: [
          [
            { label: "Yes", action: "check:yes" },
            { label: "More", url: "https://example.com/" },
          ],
        ],
        image: "https://example.com/image.png",
        awaitsReply: true,
        data: { any: ["thing", 1, null] },
      });
      const dm = make.dm("a direct message");
      const ephemeral = make.ephemeral("an ephemeral");
      const events = [create, dm, ephemeral];
      for (const event of events) await taken(event, `a ${event.type}`);
      if (chat !== undefined) for (const event of events) await chat.shows(event);
      await taken(make.update(create, "a create, updated"), "a message.update");
      await taken(make.ping(), "a ping");
      return chat === undefined ? { unchecked: "whether the messages are shown" } : undefined;
    },
  },
  {
    id: "every-kind",
    says: "Every kind of message is accepted, also in updates: a question can arrive as an update of an earlier message.",
    fix: "show every kind in the same way, in creates and in updates; no kind needs its own code",
    async judge({ make, taken, chat, createdFirst, judgeShown }) {
      const card = await createdFirst(make.create("every kind", { kind: "game_start" }));
      for (const kind of MESSAGE_KINDS) {
        const update = make.update(card, `the kind ${kind}`, { kind });
        await taken(update, `an update of the kind ${kind}`);
        if (kind === "question") await chat?.shows(update);
      }
      const last = make.update(card, "the last of all kinds", { kind: "game_end" });
      await taken(last, "an update of the kind game_end");
      return judgeShown(last, "whether the messages are shown");
    },
  },
  {
    id: "unknown-kind",
    says: "A kind that the bridge does not know is shown like a card.",
    fix: "treat unknown kinds as `card`: new kinds come without notice",
    async judge({ make, taken, judgeShown }) {
      const create = make.create("a kind of the future", { kind: "a_kind_of_the_future" });
      await taken(create, "a message of an unknown kind");
      return judgeShown(create, "whether the message is shown");
    },
  },
  {
    id: "unknown-fields",
    says: "Fields that the bridge does not know are ignored.",
    fix: "do not reject unknown fields in outbound events: new fields come without notice",
    async judge({ make, taken, judgeShown }) {
      const button = { label: "Yes", action: "check:yes", style: "unknown" };
      const create = make.create("fields of the future", { buttons: [[button]] });
      const message = { ...create.message, unknown: { any: 1 } };
      const event = { ...create, unknown: true, message };
      await taken(event, "an event with unknown fields");
      return judgeShown(create, "whether the message is shown");
    },
  },
];

/** Rules about repeats, expiry and updates. */
export const EVENT_RULES: readonly Rule<EventTarget>[] = [
  {
    id: "repeats",
    says: "A repeated event is accepted again, and is shown only once.",
    fix: "keep the ids of handled events for 24 hours; answer with 2xx to a push with a known id, and ignore the event",
    async judge({ make, taken, chat, settled }) {
      const create = make.create("shown once");
      await taken(create, "an event");
      await taken(create, "the same event again");
      await Promise.all([1, 2].map(() => taken(create, "the same event, pushed twice concurrently,")));
      const dm = make.dm("shown once");
      await taken(dm, "an event");
      await taken(dm, "the same event again");
      if (chat === undefined) return { unchecked: "whether the event is shown once" };
      await settled(chat);
      for (const event of [create, dm]) await chat.shows(event);
      return undefined;
    },
  },
  {
    id: "expired-dropped",
    says: "An event past its expiresAt is accepted and not shown; an event whose expiresAt is null is shown.",
    fix: "compare expiresAt with your own clock just before you show the event, and drop an expired event; an event whose expiresAt is null never expires",
    async judge({ make, taken, chat, hides, createdFirst }) {
      const expiresAt = new Date(Date.now() - MINUTE_MS).toISOString();
      const createdAt = new Date(Date.now() - 11 * MINUTE_MS).toISOString();
      const stale = { createdAt, expiresAt };
      const first = await createdFirst(make.create("before a stale update"));
      const events = [
        make.create("stale"),
        make.dm("stale"),
        make.ephemeral("stale"),
        make.update(first, "stale"),
      ];
      for (const event of events) await taken({ ...event, ...stale }, `a ${event.type} that has expired`);
      const lasting = make.create("never stale");
      await taken({ ...lasting, createdAt, expiresAt: null }, "an event that never expires");
      if (chat === undefined) return { unchecked: "whether the events are shown" };
      await hides(
        chat,
        events.map(({ message }) => message),
        "its expiresAt was a minute ago",
      );
      await chat.shows(lasting);
      return undefined;
    },
  },
  {
    id: "update-in-place",
    says: "An update replaces the text, buttons and image of the created message, also in a DM.",
    fix: "keep a map from message.id to the chat's message id, and edit the chat's message",
    async judge({ make, taken, chat, createdFirst }) {
      for (const before of [make.create("to be updated", LOOKS), make.dm("to be updated", LOOKS)]) {
        await createdFirst(before);
        // The update has no buttons or image, so the old buttons and image must be removed.
        const after = make.update(before, "updated");
        await taken(after, `an update of a ${before.type}`);
        if (chat === undefined) continue;
        await chat.shows(after);
        if (chat.hasEdits && (await chat.countOf(before.message)) > 0) {
          throw new Broken(`"${before.message.text}" is still shown beside its update`);
        }
      }
      if (chat === undefined) return { unchecked: "whether the message is replaced" };
      return chat.hasEdits
        ? undefined
        : { note: "the chat has no edits: an update is shown as another message" };
    },
  },
  {
    id: "update-order",
    says: "Updates are applied in sequence order: an update older than the last applied update is skipped.",
    fix: "keep the sequence of the last applied update of each message, and skip an update with a lower sequence",
    async judge({ make, taken, chat, hides, createdFirst }) {
      const create = await createdFirst(make.create("updated out of order"));
      const [older, newer] = [
        make.update(create, "the older update"),
        make.update(create, "the newer update"),
      ];
      await taken(newer, "an update");
      await chat?.shows(newer);
      await taken(older, "an update that is older than the last applied update");
      if (chat === undefined) return { unchecked: "which update is shown" };
      await hides(chat, [older.message], "a newer update of the same message came before it");
      await chat.shows(newer);
      return undefined;
    },
  },
  {
    id: "update-held",
    says: "If an update arrives before its create, the bridge holds the update, and applies it if the create arrives within 5 seconds.",
    fix: "accept an update with an unknown message.id, hold the update for 5 seconds, and apply the update after its create",
    async judge({ make, taken, pause, judgeShown }) {
      const create = make.create("created after its update");
      const update = make.update(create, "updated before it was created");
      await taken(update, "an update that overtook its create");
      await pause(1_000, "an update waits for its create");
      await taken(create, "a create after its update");
      return judgeShown(update, "whether the update is applied");
    },
  },
  {
    id: "hold-ends",
    says: "An update whose create does not arrive within 5 seconds is ignored.",
    fix: "drop a held update after 5 seconds, and never post the update as a new message",
    async judge({ make, taken, chat, pause, hides }) {
      const create = make.create("created too late for its update");
      const update = make.update(create, "updated long before it was created");
      await taken(update, "an update that overtook its create");
      if (chat === undefined) return { unchecked: "whether the update is ignored after 5 seconds" };
      await pause(
        HOLD_OVER_MS,
        `an update is held for 5 seconds, so the check waits for ${HOLD_OVER_MS / 1000} seconds`,
      );
      await hides(chat, [update.message], "no message was created for it");
      await taken(create, "a create long after its update");
      await hides(chat, [update.message], "its create arrived more than 5 seconds later");
      await chat.shows(create);
      return undefined;
    },
  },
];
