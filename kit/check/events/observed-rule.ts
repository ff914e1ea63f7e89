import { Broken, type Rule } from "../rule";
import type { EventTarget } from "./event-target";

export const OBSERVED_RULE: Rule<EventTarget> = {
  id: "observed",
  says: "A message is posted, and the observation endpoint lists it.",
  fix: "set --channel to a channel of your chat; answer with 200 and the JSON that --help shows, or omit --observe",
  isGate: true,
  async judge({ make, taken, chat, unobserve }) {
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
      // All rules that need no observation can still be checked.
      unobserve();
      throw new Broken(error.message, error.fix, { ...error.more, judgeable: "all" });
    }
  },
};
