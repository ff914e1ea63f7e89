import { UPDATE_HOLD_MS } from "../../../contract/numbers";
import { Broken, type Rule } from "../rule";
import { createdFirst } from "./created-first";
import type { EventTarget } from "./event-target";

/** Milliseconds after which a correct bridge no longer holds an update. */
const HOLD_OVER_MS = UPDATE_HOLD_MS + 2_000;
const MINUTE_MS = 60_000;

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
    async judge(target) {
      const { make, taken, chat, hides } = target;
      const expiresAt = new Date(Date.now() - MINUTE_MS).toISOString();
      const createdAt = new Date(Date.now() - 11 * MINUTE_MS).toISOString();
      const stale = { createdAt, expiresAt };
      const first = await createdFirst(target, make.create("before a stale update"));
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
    async judge(target) {
      const { make, taken, chat } = target;
      for (const before of [make.create("to be updated", LOOKS), make.dm("to be updated", LOOKS)]) {
        await createdFirst(target, before);
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
    async judge(target) {
      const { make, taken, chat, hides } = target;
      const create = await createdFirst(target, make.create("updated out of order"));
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
    async judge({ make, taken, chat, pause }) {
      const create = make.create("created after its update");
      const update = make.update(create, "updated before it was created");
      await taken(update, "an update that overtook its create");
      await pause(1_000, "an update waits for its create");
      await taken(create, "a create after its update");
      if (chat === undefined) return { unchecked: "whether the update is applied" };
      await chat.shows(update);
      return undefined;
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

const LOOKS = { buttons: [[{ label: "Yes", action: "check:yes" }]], image: "https://example.com/image.png" };
