import { setTimeout as sleep } from "node:timers/promises";
import { startConsumer, type Consumer } from "../harness/consumer";
import type { Core } from "../harness/rig";
import type { Facts } from "./facts";

const LOOK_EVERY_MS = 20;
const OPEN_AGAIN_MS = 100;
/** Milliseconds to wait for a stream to open. A stream to a suspended core neither opens nor ends. */
const OPEN_WITHIN_MS = 5_000;

/**
 * Starts a consumer that acks every delivery. The consumer opens a stream at the first core. Whenever a stream ends, or
 * does not open in time, the consumer opens a stream at the next core. Resolves to a function that stops the consumer,
 * as soon as the first stream is open.
 */
export async function startFollower(cores: readonly Core[], facts: Facts, group: string, consumer: string) {
  const stopping = new AbortController();
  let began: () => void = () => undefined;
  const hasBegun = new Promise<void>((resolve) => (began = resolve));

  async function watch(stream: Consumer): Promise<void> {
    const openBy = performance.now() + OPEN_WITHIN_MS;
    for (let seen = 0; ; await sleep(LOOK_EVERY_MS)) {
      if (stream.isOpen) began();
      for (const { id, workspaceId, text } of stream.seen.slice(seen)) {
        facts.add({ saw: "delivered", workspace: workspaceId, group, request: text, delivery: id });
        seen += 1;
      }
      if (stream.end !== undefined || stopping.signal.aborted) return;
      if (!stream.isOpen && performance.now() > openBy) return;
    }
  }
  async function run(): Promise<void> {
    for (let turn = 0; !stopping.signal.aborted; turn++) {
      const client = cores[turn % cores.length]?.clients.games;
      if (client === undefined) throw new Error("there is no core");
      const stream = startConsumer(client, { group, consumer, window: 200, ackDeadline: { seconds: 5 } });
      stream.ackAll();
      await watch(stream);
      stream.cancel();
      await sleep(OPEN_AGAIN_MS);
    }
  }
  const running = run();
  await Promise.race([hasBegun, running]);
  return async (): Promise<void> => {
    stopping.abort();
    await running;
  };
}
