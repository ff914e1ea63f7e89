import { FollowRequest, type FollowNack } from "../../proto/gen/chatbridge/v1/game";
import { startConsumer, startStream, type, type Consumer, type Seen } from "./consumer";
import type { CoreClients } from "./core-clients";
import type { TestWorkspace } from "./service";
import { texts, type TestStore } from "./store";

let groups = 0;

/** Starts consumers, and cancels them after each test. */
export function useFollowers() {
  const consumers: Consumer[] = [];
  const keep = (consumer: Consumer): Consumer => {
    consumers.push(consumer);
    return consumer;
  };
  afterEach(() => {
    for (const consumer of consumers.splice(0)) consumer.cancel();
  });
  return {
    start: ({ games }: CoreClients, open: Parameters<typeof startConsumer>[1]) =>
      keep(startConsumer(games, open)),
    /** Opens a stream without sending anything over it. */
    startSilent: ({ games }: CoreClients) => keep(startStream(games)),
    newGroup: () => `group-${process.pid}-${++groups}-${Date.now()}`,
  };
}

/** Posts `texts` to a workspace as a member's messages, one after the other, through the edge at `url`. */
export async function typeIn(url: string, to: TestWorkspace, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) expect(await type(url, to, text)).toBe(true);
}

export const idsOf = (seen: readonly Seen[]): string[] => seen.map(({ id }) => id);

export function nack(consumer: Consumer, delay: FollowNack["delay"], ...seen: readonly Seen[]): void {
  consumer.say(FollowRequest.create({ say: { $case: "nack", value: { deliveryIds: idsOf(seen), delay } } }));
}

export const attemptsOf = (seen: readonly Seen[]): readonly string[] =>
  seen.map(({ text, attempt }) => `${text}/${attempt}`);

const WAITING = `
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    local fields = {}
    for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
    if fields.name == ARGV[1] then return { tostring(fields.pending), tostring(fields.lag) } end
  end
  return { 'no group', '' }`;

/** Returns the number of a group's unread and unacked events; NaN if a shard does not have the group. */
export async function waitingFor(store: TestStore, group: string): Promise<number> {
  let sum = 0;
  for (let shard = 0; shard < store.keys.shards; shard++) {
    const log = `${store.keys.prefix(shard)}:in`;
    const [pending, lag] = await texts(store, "EVAL", WAITING, "1", log, group);
    sum += Number(pending) + Number(lag);
  }
  return sum;
}
