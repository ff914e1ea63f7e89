import type { PollWatch } from "../ports/poll-watch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Reply } from "./redis";
import { asList, asNumber, asText } from "./reply";

const MAILS_MAX = 10;

/** A time in ms that is 0 for never. */
function asTime(reply: Reply): number | undefined {
  return asNumber(reply) || undefined;
}

export function createPollWatch(functions: Functions, keys: Keys): PollWatch {
  return {
    async findFailing(shard) {
      return asList(await functions.call("find_failing", keys.prefix(shard), [])).map(asText);
    },
    async health(workspaceId) {
      const prefix = keys.prefix(keys.shard(workspaceId));
      const [failing, polled, waiting, oldest] = asList(
        await functions.call("poll_health", prefix, [workspaceId]),
      );
      return {
        failingSinceMs: asTime(failing),
        lastPollAtMs: asTime(polled),
        waiting: asNumber(waiting),
        oldestWaitingAtMs: asTime(oldest),
      };
    },
    async readMail(shard) {
      const mails = asList(await functions.call("read_mail", keys.prefix(shard), [String(MAILS_MAX)]));
      return mails.map((mail) => {
        const [entry, workspace, since, oldest] = asList(mail);
        return {
          entryId: asText(entry),
          workspaceId: asText(workspace),
          failingSinceMs: asNumber(since),
          oldestWaitingAtMs: asNumber(oldest),
        };
      });
    },
    async removeMail(shard, entryId) {
      await functions.call("remove_mail", keys.prefix(shard), [entryId]);
    },
  };
}
