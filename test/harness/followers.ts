import type { FollowOpen } from "../../proto/gen/chatbridge/v1/game";
import { startConsumer, startStream, type, type Consumer, type Seen } from "./consumer";
import type { CoreClients, TestWorkspace } from "./service";

type OpenInit = Parameters<typeof FollowOpen.create>[0];

/** Consumers of a test, which are dropped after it. */
export interface Followers {
  /** Opens a stream at a core. */
  start(clients: CoreClients, open: OpenInit): Consumer;
  /** Opens a stream that says nothing. */
  startSilent(clients: CoreClients): Consumer;
  /** A group that no other test has. */
  newGroup(): string;
}

let groups = 0;

export function useFollowers(): Followers {
  const consumers: Consumer[] = [];
  const keep = (consumer: Consumer): Consumer => {
    consumers.push(consumer);
    return consumer;
  };
  afterEach(() => {
    for (const consumer of consumers.splice(0)) consumer.cancel();
  });
  return {
    start: ({ games }, open) => keep(startConsumer(games, open)),
    startSilent: ({ games }) => keep(startStream(games)),
    newGroup: () => `group-${process.pid}-${++groups}-${Date.now()}`,
  };
}

/** Types messages in a workspace through the edge at `url`, one after the other. */
export async function typeIn(url: string, to: TestWorkspace, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) expect(await type(url, to, text)).toBe(true);
}

/** Deliveries as text/attempt. */
export const attemptsOf = (seen: readonly Seen[]): readonly string[] =>
  seen.map(({ text, attempt }) => `${text}/${attempt}`);
