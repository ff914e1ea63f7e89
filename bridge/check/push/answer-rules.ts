import { MESSAGE_KINDS } from "../../events";
import { Broken, type Rule } from "../rule";
import { createdFirst } from "./created-first";
import { explainRefusal } from "./likely-cause";
import { expectTaken, type PushTarget } from "./push-target";

/** Number of concurrent pushes, as in a game with many players. */
const BURST = 40;

export const FIRST_RULES: readonly Rule<PushTarget>[] = [
  {
    id: "answers",
    says: "A correctly signed ping is answered with 2xx within 5 seconds, without a redirect.",
    fix: "answer with any 2xx to a push with a valid signature; check the address, the secret and the workspace",
    isGate: true,
    async judge(target) {
      const ping = target.make.ping();
      const reply = await target.push(ping);
      try {
        return { note: `${expectTaken(reply, "a ping").ms} ms` };
      } catch (error) {
        if (!(error instanceof Broken) || !("status" in reply) || reply.status < 400) throw error;
        throw await explainRefusal(target, ping, reply, error.message);
      }
    },
  },
  {
    id: "observed",
    says: "A message is posted, and the observation endpoint lists it.",
    fix: "set --channel to a channel of your chat; answer with 200 and the JSON that --help shows, or omit --observe",
    isGate: true,
    async judge({ make, taken, chat, unobserve }) {
      if (chat === undefined) {
        return { unseen: "there is no --observe, so only the answers of the bridge are checked" };
      }
      try {
        await chat.read();
        const first = make.create("the first message");
        await taken(first, "a create");
        await chat.shows(first);
        return undefined;
      } catch (error) {
        if (!(error instanceof Broken)) throw error;
        // The answers of the bridge can still be checked.
        unobserve();
        throw new Broken(error.message, error.fix, { ...error.more, judgeable: "all" });
      }
    },
  },
];

export const ANSWER_RULES: readonly Rule<PushTarget>[] = [
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
      return chat === undefined ? { unseen: "whether the messages are shown" } : undefined;
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
      if (chat === undefined) return { unseen: "whether the messages are shown" };
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
      if (chat === undefined) return { unseen: "whether the message is shown" };
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
      if (chat === undefined) return { unseen: "whether the message is shown" };
      await chat.shows(create);
      return undefined;
    },
  },
];

/** This rule is checked last, because a slow bridge is busy for a while after this burst. */
export const BURST_RULE: Rule<PushTarget> = {
  id: "answer-before-work",
  says: `Each of ${BURST} concurrent events is answered with 2xx within 5 seconds: the answer is sent before slow work.`,
  fix: "put the event in a queue, answer with 2xx, and only then call the chat",
  async judge(target) {
    const { make, push } = target;
    const board = await createdFirst(target, make.create("a board with many updates"));
    const updates = Array.from({ length: BURST }, (_, i) => make.update(board, `answer count ${i + 1}`));
    const replies = await Promise.all(updates.map((update) => push(update)));
    const bad = replies.filter((reply) => "failed" in reply || reply.status < 200 || reply.status > 299);
    const [first] = bad;
    if (first !== undefined) {
      const how = "failed" in first ? first.failed : `the status was ${first.status}`;
      throw new Broken(`${bad.length} of ${BURST} were not accepted; for the first of them, ${how}`);
    }
    return { note: `the slowest took ${Math.max(...replies.map(({ ms }) => ms))} ms` };
  },
};
