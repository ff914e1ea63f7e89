import { setTimeout as sleep } from "node:timers/promises";
import type { GameServiceClient } from "../../proto/gen/chatbridge/v1/game";
import { startConsumer, type Consumer } from "../harness/consumer";
import type { Facts } from "./facts";

/** A consumer that acks everything and, whenever its stream ends, opens another one at the next core. */
export interface LoadFollower {
  stop(): Promise<void>;
}

export interface FollowerOptions {
  readonly group: string;
  readonly consumer: string;
  /** The cores, first the one to begin with. */
  readonly games: readonly GameServiceClient[];
  readonly facts: Facts;
}

const LOOK_EVERY_MS = 20;
const OPEN_AGAIN_MS = 100;
/** A core may be stopped in its tracks: its stream stands and says nothing. */
const OPEN_WITHIN_MS = 5_000;

/** Starts one; resolves when it follows. */
export async function startFollower({
  group,
  consumer,
  games,
  facts,
}: FollowerOptions): Promise<LoadFollower> {
  const stopping = new AbortController();
  let began: () => void = () => undefined;
  const hasBegun = new Promise<void>((resolve) => (began = resolve));

  async function watch(stream: Consumer, isOver: () => boolean): Promise<void> {
    const openBy = performance.now() + OPEN_WITHIN_MS;
    for (let seen = 0; ; await sleep(LOOK_EVERY_MS)) {
      if (stream.isOpen) began();
      for (const { id, workspaceId, text } of stream.seen.slice(seen)) {
        facts.add({ saw: "delivered", workspace: workspaceId, group, request: text, delivery: id });
        seen += 1;
      }
      if (stream.end !== undefined || isOver()) return;
      if (!stream.isOpen && performance.now() > openBy) return;
    }
  }
  async function run(): Promise<void> {
    for (let turn = 0; !stopping.signal.aborted; turn++) {
      const client = games[turn % games.length];
      if (client === undefined) throw new Error("there is no core to follow at");
      const stream = startConsumer(client, { group, consumer, window: 200, ackDeadline: { seconds: 5 } });
      stream.ackAll();
      await watch(stream, () => stopping.signal.aborted);
      stream.cancel();
      await sleep(OPEN_AGAIN_MS);
    }
  }
  const running = run();
  await Promise.race([hasBegun, running]);
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
