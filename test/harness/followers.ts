import { startConsumer, startStream, type, type Consumer, type Seen } from "./consumer";
import type { CoreClients } from "./core-clients";
import type { TestWorkspace } from "./service";

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
    /** Opens a stream without sending anything. */
    startSilent: ({ games }: CoreClients) => keep(startStream(games)),
    newGroup: () => `group-${process.pid}-${++groups}-${Date.now()}`,
  };
}

/** Posts `texts` to a workspace as a member's messages, one after the other, through the edge at `url`. */
export async function typeIn(url: string, to: TestWorkspace, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) expect(await type(url, to, text)).toBe(true);
}

export const attemptsOf = (seen: readonly Seen[]): readonly string[] =>
  seen.map(({ text, attempt }) => `${text}/${attempt}`);
