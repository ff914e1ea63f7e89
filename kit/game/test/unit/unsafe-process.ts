import type { OutboundEvent } from "../../../../proto/gen/chatbridge/v1/game";
import { gate } from "../../../test/harness/gate";
import { LinkClosed, type CoreLink, type FollowListener } from "../../core-link";
import type { GameRun } from "../../game-run";
import type { GameStore } from "../../store";
import type { World } from "./world";

/** A fault that the next call of one kind will have. */
export type Fault = "crash before" | "crash after" | "fail before" | "fail after";

/** A process of a game that can be killed in the middle of a call, and be suspended. */
export class UnsafeProcess<State> {
  /** The faults that the next calls to save, load and publish will have. */
  readonly faults: { save?: Fault; load?: Fault; publish?: Fault } = {};
  readonly consumer: string;
  /** The shards that core has assigned to this process, even while it is suspended. */
  readonly owned = new Set<number>();
  readonly run: GameRun<State>;
  readonly #world: World<State>;
  #isDead = false;
  #resumed = gate();
  #isSuspended = false;
  /** The responses that core has sent to the suspended process. */
  #heard: (() => void)[] = [];
  readonly #published = new WeakSet<readonly OutboundEvent[]>();

  constructor(world: World<State>, store: GameStore, consumer: string) {
    this.#world = world;
    this.consumer = consumer;
    this.#resumed.open();
    this.run = world.start(this.#unsafeStore(store), consumer, (link) => this.#unsafeLink(link));
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Whether the call to publish with these events is from this process. */
  isPublishing(events: readonly OutboundEvent[]): boolean {
    return this.#published.has(events);
  }

  kill(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#world.kill(this.run);
    this.resume();
  }

  suspend(): void {
    if (this.#isDead || this.#isSuspended) return;
    this.#isSuspended = true;
    this.#resumed = gate();
  }

  resume(): void {
    this.#isSuspended = false;
    this.#resumed.open();
    for (const hear of this.#heard.splice(0)) if (!this.#isDead) hear();
  }

  /** Makes a call with the fault that was planned for it. */
  async #call<T>(of: keyof UnsafeProcess<State>["faults"], act: () => Promise<T>): Promise<T> {
    await this.#running();
    const fault = this.faults[of];
    delete this.faults[of];
    if (fault === "crash before") this.kill();
    if (fault === "crash before" || fault === "fail before") throw new LinkClosed();
    const result = await act();
    if (fault === "crash after") this.kill();
    if (fault === "crash after" || fault === "fail after") throw new LinkClosed();
    await this.#running();
    return result;
  }

  /** Resolves once the process is not suspended. Rejects if it is dead. */
  async #running(): Promise<void> {
    await this.#resumed.opened;
    if (this.#isDead) throw new LinkClosed();
  }

  #unsafeStore(store: GameStore): GameStore {
    return {
      load: (id) => this.#call("load", () => store.load(id)),
      save: (...args) => this.#call("save", () => store.save(...args)),
      remove: (id) => this.#call("save", () => store.remove(id)),
      wakes: () => this.#call("load", () => store.wakes()),
    };
  }

  #unsafeLink(link: CoreLink): CoreLink {
    const say = (act: () => void): void => {
      void this.#running().then(act, () => undefined);
    };
    return {
      follow: (listener) => link.follow(this.#listener(listener)),
      ack: (ids) => (this.#isSuspended ? say(() => link.ack(ids)) : link.ack(ids)),
      extend: (ids) => link.extend(ids),
      nack: (ids, delayMs) =>
        this.#isSuspended ? say(() => link.nack(ids, delayMs)) : link.nack(ids, delayMs),
      deadLetter: (id, reason) => link.deadLetter(id, reason),
      publish: (events) => {
        this.#published.add(events);
        return this.#call("publish", () => link.publish(events));
      },
      pause: () => link.pause(),
      close: () => link.close(),
    };
  }

  #listener(listener: FollowListener): FollowListener {
    const hear = (act: () => void): void => {
      if (this.#isSuspended) this.#heard.push(act);
      else act();
    };
    return {
      opened: (stream) => hear(() => listener.opened(stream)),
      gained: (shards) => {
        for (const shard of shards) this.owned.add(shard);
        hear(() => listener.gained(shards));
      },
      lost: (shards) => {
        for (const shard of shards) this.owned.delete(shard);
        hear(() => listener.lost(shards));
      },
      delivered: (delivery) => hear(() => listener.delivered(delivery)),
      ended: () => {
        this.owned.clear();
        hear(() => listener.ended());
      },
    };
  }
}
