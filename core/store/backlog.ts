import type { Backlog, GroupBacklog } from "../ports/backlog";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { Reply } from "./redis/redis";
import { asList, asNumber, asText } from "./redis/reply";

function toTime(reply: Reply): number | undefined {
  return asText(reply) === "" ? undefined : asNumber(reply);
}

function toGroup(reply: Reply): GroupBacklog {
  const [group, unread, unacked, oldest] = asList(reply);
  return {
    group: asText(group),
    unread: asNumber(unread),
    unacked: asNumber(unacked),
    oldestAtMs: toTime(oldest),
  };
}

export function createBacklog(functions: Functions, keys: Keys): Backlog {
  return {
    async read(shard) {
      const reply = await functions.call("read_backlog", keys.prefix(shard), []);
      const [pushes, pushBytes, oldestPush, mails, inboundEvents, operatorEvents, ...groups] = asList(reply);
      return {
        pushes: asNumber(pushes),
        pushBytes: asNumber(pushBytes),
        oldestPushAtMs: toTime(oldestPush),
        mails: asNumber(mails),
        inboundEvents: asNumber(inboundEvents),
        operatorEvents: asNumber(operatorEvents),
        groups: groups.map(toGroup),
      };
    },
  };
}
