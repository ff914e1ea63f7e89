import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import type { ReceivedEvent } from "../../proto/gen/chatbridge/v1/event";
import { listenForProbes } from "../../runtime/health-listener";
import { formatHostPort } from "../../runtime/settings";
import type { GameConfig } from "./config";
import { connectToCore } from "./grpc/core-client";
import { Follower } from "./grpc/follower";
import { toInput } from "./grpc/inbound-event";
import { Publisher } from "./grpc/publisher";
import { listenForPictures } from "./picture-listener";
import { drawQuestions } from "./questions/draw-questions";
import type { Rules } from "./rules/workspace";
import { createWorkspaces } from "./workspaces";

/** Age in ms above which an event is dropped: after an outage, nobody is waiting for the outputs of old events. */
const STALE_AFTER_MS = 5 * 60_000;
/**
 * Maximum number of handled events in the cache that detects redelivery. The number of unacked events is always lower.
 */
const HANDLED_MAX = 10_000;
const LAST_WORDS_WITHIN_MS = 4_000;

/**
 * Starts the game. Resolves when the game follows events. Rejects if core rejects the game, or if `stopping` is
 * aborted, before the game follows events.
 */
export async function startTrivia(config: GameConfig, log: Logger, stopping: AbortSignal) {
  const { names, group = names.own, consumer } = config;
  const pictures = await listenForPictures(config.picturesListen);
  const picturesUrl =
    config.picturesUrl ?? `http://${formatHostPort({ ...config.picturesListen, port: pictures.port })}/`;
  const core = connectToCore(config.core);

  const publisher = new Publisher({
    core,
    group,
    game: names.own,
    log,
    onUnknownWorkspace(workspaceId) {
      log.info({ workspaceId }, "core does not have the workspace, so the workspace's games are dropped");
      workspaces.forget(workspaceId);
    },
  });

  // A later run never repeats the outputs of timers, so their idempotency keys contain an id of this run.
  const run = randomBytes(9).toString("base64url");
  let ticks = 0;
  const workspaces = createWorkspaces({
    rules: rulesOf(config, picturesUrl),
    onOwn: (workspaceId, outputs) => void publisher.publish(workspaceId, `${run}/${++ticks}`, outputs),
  });

  async function playEvent(deliveryId: string, received: ReceivedEvent): Promise<unknown> {
    const { workspaceId, receivedAt } = received;
    if (receivedAt !== undefined && Date.now() - receivedAt.getTime() > STALE_AFTER_MS) {
      log.info({ workspaceId, deliveryId }, "an event is dropped because it is older than 5 minutes");
      return undefined;
    }
    const input = toInput(deliveryId, received, names.own, (messageId) =>
      publisher.refOf(workspaceId, messageId),
    );
    return input && publisher.publish(workspaceId, deliveryId, workspaces.play(workspaceId, input));
  }

  // Core delivers events at least once. For a redelivered event, the game waits until the first handling has ended.
  const handled = new LRUCache<string, Promise<unknown>>({ max: HANDLED_MAX });
  const follower = new Follower({
    core,
    group,
    consumer,
    log,
    async handle({ deliveryId, received }) {
      if (received === undefined) return;
      const done = handled.get(deliveryId) ?? playEvent(deliveryId, received);
      handled.set(deliveryId, done);
      await done;
    },
  });

  let closing: Promise<void> | undefined;
  const health = await listenForProbes(config.healthListen, async () =>
    closing !== undefined ? "stopping" : follower.isFollowing ? undefined : "core is unreachable",
  );
  /**
   * Ends the games, publishes their last messages, sends the last acks, and closes all connections and listeners.
   * Closing twice is harmless.
   */
  const close = (): Promise<void> =>
    (closing ??= (async () => {
      follower.pause();
      workspaces.close();
      await Promise.race([publisher.idle(), sleep(LAST_WORDS_WITHIN_MS, undefined, { ref: false })]);
      // Events whose outputs are published are acked before the stream closes. All other events stay unacked.
      await follower.close();
      publisher.close();
      core.close();
      await Promise.all([pictures.close(), health.close()]);
    })());

  if (stopping.aborted) void close();
  stopping.addEventListener("abort", () => void close(), { once: true });
  await follower.opened;
  log.info({ port: pictures.port, healthPort: health.port }, "demo/game is ready");
  return { close };
}

function rulesOf(config: GameConfig, picturesUrl: string): Rules {
  const { names, rounds, secondsPerQuestion } = config;
  return {
    names,
    rounds,
    secondsPerQuestion,
    lobbyMs: config.lobbySeconds * 1000,
    revealMs: config.revealSeconds * 1000,
    drawQuestions: (count, seed) => drawQuestions(count, seed, (name) => `${picturesUrl}${name}.png`),
  };
}
