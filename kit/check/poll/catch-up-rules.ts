import type { Rule } from "../rule";
import { createdFirst } from "../events/created-first";
import type { PollTarget } from "./poll-target";

const MINUTE_MS = 60_000;

/** Rules about the content of pages. These rules apply only to bridges that poll. */
export const CATCH_UP_RULES: readonly Rule<PollTarget>[] = [
  {
    id: "unknown-type",
    says: "If a page has unknown fields and an event of an unknown type, the other events of the page are shown.",
    fix: "skip an event whose type you do not know, and ignore unknown fields: new types and fields come without notice",
    async judge({ make, chat, session }) {
      const unknown = { ...make.create("an event of an unknown type"), type: "message.unknown" };
      const create = make.create("after an event of an unknown type");
      const content = { events: [unknown, create], more: { unknown: { any: 1 } } };
      await session.pass(content, "a page with an event of an unknown type");
      if (chat === undefined) return { unchecked: "whether the other event is shown" };
      await chat.shows(create);
      return undefined;
    },
  },
  {
    id: "gap",
    says: "After a page whose gap is true, the bridge shows the events of the page and carries on from `next`.",
    fix: "when gap is true, tell the channel that messages were missed if you like, and poll with the page's `next`",
    async judge({ make, chat, session }) {
      const create = make.create("after a gap");
      await session.pass({ events: [create], gap: true }, "a page whose gap is true");
      if (chat === undefined) return { unchecked: "whether the event is shown" };
      await chat.shows(create);
      return undefined;
    },
  },
  {
    id: "highest-update",
    says: "Of several updates of one message on a page, the update with the highest sequence is shown.",
    fix: "of all updates of a message that you have, apply only the one with the highest sequence",
    async judge(target) {
      const { make, chat, session, hides } = target;
      const create = await createdFirst(target, make.create("updated several times"));
      const updates = ["first", "second", "last"].map((which) => make.update(create, `the ${which} update`));
      await session.pass({ events: updates }, "a page with three updates of a message");
      const last = updates.at(-1);
      if (chat === undefined || last === undefined) return { unchecked: "which update is shown" };
      await chat.shows(last);
      const others = updates.filter((update) => update !== last).map(({ message }) => message);
      await hides(chat, others, "the page had a newer update of the same message");
      return undefined;
    },
  },
  {
    id: "update-of-expired",
    says: "An update whose create was dropped because it had expired is dropped too.",
    fix: "hold an update with an unknown message.id for 5 seconds, and then drop the update; never post an update as a new message",
    async judge({ make, chat, session, hides }) {
      const [createdAt, expiresAt] = [11, 1].map((minutes) =>
        new Date(Date.now() - minutes * MINUTE_MS).toISOString(),
      );
      const create = make.create("created, and expired");
      const update = make.update(create, "an update of an expired message");
      const events = [{ ...create, createdAt, expiresAt }, update];
      await session.pass({ events }, "a page with an expired create and an update of it");
      if (chat === undefined) return { unchecked: "whether the update is dropped" };
      await hides(chat, [create.message, update.message], "the create had expired");
      return undefined;
    },
  },
];
