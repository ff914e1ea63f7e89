import { MESSAGE_KINDS } from "../../events";
import type { Rule } from "../rule";
import { createdFirst } from "./created-first";
import type { EventTarget } from "./event-target";

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
    async judge(target) {
      const { make, taken, chat } = target;
      const card = await createdFirst(target, make.create("every kind", { kind: "game_start" }));
      for (const kind of MESSAGE_KINDS) {
        const update = make.update(card, `the kind ${kind}`, { kind });
        await taken(update, `an update of the kind ${kind}`);
        if (kind === "question") await chat?.shows(update);
      }
      const last = make.update(card, "the last of all kinds", { kind: "game_end" });
      await taken(last, "an update of the kind game_end");
      if (chat === undefined) return { unchecked: "whether the messages are shown" };
      await chat.shows(last);
      return undefined;
    },
  },
  {
    id: "unknown-kind",
    says: "A kind that the bridge does not know is shown like a card.",
    fix: "treat unknown kinds as `card`: new kinds come without notice",
    async judge({ make, taken, chat }) {
      const create = make.create("a kind of the future", { kind: "a_kind_of_the_future" });
      await taken(create, "a message of an unknown kind");
      if (chat === undefined) return { unchecked: "whether the message is shown" };
      await chat.shows(create);
      return undefined;
    },
  },
  {
    id: "unknown-fields",
    says: "Fields that the bridge does not know are ignored.",
    fix: "do not reject unknown fields in outbound events: new fields come without notice",
    async judge({ make, taken, chat }) {
      const button = { label: "Yes", action: "check:yes", style: "unknown" };
      const create = make.create("fields of the future", { buttons: [[button]] });
      const message = { ...create.message, unknown: { any: 1 } };
      const event = { ...create, unknown: true, message };
      await taken(event, "an event with unknown fields");
      if (chat === undefined) return { unchecked: "whether the message is shown" };
      await chat.shows(create);
      return undefined;
    },
  },
];
