import { Broken, type Rule } from "../rule";
import { createdFirst } from "../events/created-first";
import { OBSERVED_RULE } from "../events/observed-rule";
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
  OBSERVED_RULE,
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
