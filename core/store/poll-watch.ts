import type { Found, PollWatch } from "../ports/poll-watch";
import { batchFunction } from "./function-batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Reply } from "./redis/redis";
import { asList, asNumber, asText } from "./redis/reply";

/** Maximum number of emails in the outbox of a shard. */
const OUTBOX_MAX = 10_000;
/** Maximum number of emails that are read in one call. */
const MAILS_MAX = 10;

/** Reads a time in ms. Returns undefined for 0, which means never. */
function asTime(reply: Reply): number | undefined {
  return asNumber(reply) || undefined;
}

/**
 * Maximum number of due states that are computed each second in all shards together. The check of all states may
 * compute the same number again. While Redis runs a call, it answers no other call, so the shards are divided among
 * CALLS calls of about 20 ms each.
 */
const SETTLED_MAX = 3_200;
const CALLS = 8;

export function createPollWatch(functions: Functions, keys: Keys): PollWatch {
  // A core usually checks all its shards in one turn of the event loop, so these checks share a batch. If a batch
  // contains several checks of the same shard, only the first caller receives the workspaces that were found.
  const { one: find } = batchFunction<undefined, Found>(functions, keys, {
    name: "find_failing",
    most: Math.ceil(keys.shards / CALLS),
    toArguments: () => [String(OUTBOX_MAX), String(Math.ceil(SETTLED_MAX / keys.shards))],
    toOutputs(reply, callers) {
      const [mails, dropped, operator, ...workspaceIds] = asList(reply);
      const [waiting, expired, full] = asList(operator).map(asNumber);
      const found = {
        workspaceIds: workspaceIds.map(asText),
        mails: asNumber(mails),
        mailsDropped: asNumber(dropped),
        operatorEvents: waiting ?? 0,
        operatorEventsDropped: { expired: expired ?? 0, full: full ?? 0 },
      };
      const nothingNew = {
        workspaceIds: [],
        mailsDropped: 0,
        operatorEventsDropped: { expired: 0, full: 0 },
      };
      return callers.map((_, i) => (i === 0 ? found : { ...found, ...nothingNew }));
    },
  });
  return {
    findFailing: (shard) => find(shard, undefined),
    async health(workspaceId) {
      const [failing, polled, waiting, oldest, recovered, refused] = asList(
        await functions.call("poll_health", keys.prefixOf(workspaceId), [workspaceId]),
      );
      return {
        failingSinceMs: asTime(failing),
        lastPollAtMs: asTime(polled),
        waiting: asNumber(waiting),
        oldestWaitingAtMs: asTime(oldest),
        recoveredAtMs: asTime(recovered),
        refusedAtMs: asTime(refused),
      };
    },
    async readMail(shard, after) {
      const args = [String(MAILS_MAX), after === undefined ? "-" : `(${after}`];
      const mails = asList(await functions.call("read_mail", keys.prefix(shard), args));
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
