import { deliveryId } from "../../../../core/operations/in-flight";
import type { OutboundEvent, PublishResult } from "../../../../proto/gen/chatbridge/v1/game";
import type { CoreLink } from "../../core-link";
import type { Game } from "../../game";
import { GameRun } from "../../game-run";
import { memoryStore, type GameStore } from "../../store";
import { VirtualClock } from "../../testing/virtual-clock";
import { WORKSPACE } from "./world";

/** A process of a game, for which the test acts as a core with one shard. */
export class HandFed<State> {
  readonly clock = new VirtualClock();
  readonly acked: string[] = [];
  readonly nacked: string[] = [];
  readonly published: OutboundEvent[] = [];
  readonly run: GameRun<State>;
  publish: (events: readonly OutboundEvent[]) => Promise<readonly PublishResult[]> = async (events) =>
    events.map((event) => {
      this.published.push(event);
      const messageId = `msg_${String(this.published.length).padStart(26, "0")}`;
      const value = { eventId: "", sequence: 1, messageId, expiresAt: undefined, repeated: false };
      return { outcome: { $case: "published", value } };
    });

  constructor(game: Game<State>, store: GameStore = memoryStore()) {
    const link: CoreLink = {
      follow: () => undefined,
      ack: (ids) => void this.acked.push(...ids),
      extend: () => undefined,
      nack: (ids) => void this.nacked.push(...ids),
      deadLetter: () => undefined,
      publish: (events) => this.publish(events),
      pause: () => undefined,
      close: async () => undefined,
    };
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    this.run = new GameRun(game, { link, store, clock: this.clock, group: "game", log });
    this.run.opened({ streamId: "one", shards: 1 });
    this.run.gained([0]);
  }

  /** Delivers a command. Returns the id of the delivery. */
  deliver(text: string, position: number, attempt = 1): string {
    const id = deliveryId(0, `${position}-0`);
    const event = {
      channel: { id: "room" },
      user: { id: "ada" },
      kind: { $case: "command", value: { text } },
    } as const;
    const received = { workspaceId: WORKSPACE, receivedAt: new Date(this.clock.now()), event };
    this.run.delivered({ deliveryId: id, attempt, received, traceparent: "", shard: 0 });
    return id;
  }

  get shown(): readonly string[] {
    return this.published.map(({ content }) => content?.value.message?.text ?? "");
  }
}
