import { createWaker } from "../../domain/waker";
import type { Argument, Connect, Connection, Redis, Reply, ServerReply } from "./connection";
import type { StreamEntries } from "./entries-decoder";

/** A function that sends a command on the connection to a master. */
export type Call<Answer> = (master: Connection) => Promise<Answer>;

export interface TopologyOptions {
  readonly connect: Connect;
  onError(error: Error): void;
}

type State = "degraded" | "whole" | "closed";

const NEXT: Readonly<Record<State, readonly State[]>> = {
  degraded: ["whole", "closed"],
  whole: ["degraded", "closed"],
  closed: [],
};

const LOOK_EVERY_MS = 1_000;
const LOOK_AGAIN_MS = 300;

/**
 * Redis servers whose masters can change. Core looks for changes every second, and immediately when a connection is
 * lost or when a server is no longer the master. `start` resolves when all connections are ready.
 *
 *     ──start──▶ degraded ──a look finds all connections ready──▶ whole
 *                 │    ▲                                          │  │
 *                 │    └──a look finds a connection not ready─────┘  │
 *                 └──close──▶ closed ◀──close────────────────────────┘
 */
export abstract class Topology implements Redis {
  abstract readonly isOneMaster: boolean;
  /** The connection that receives messages, if there is one. */
  protected abstract readonly messages: Connection | undefined;
  protected readonly connect: Connect;
  readonly #onError: (error: Error) => void;
  readonly #subscriptions: { readonly pattern: string; readonly heard: (channel: string) => void }[] = [];
  readonly #waker = createWaker();
  #state: State = "degraded";
  #following: Promise<void> | undefined;

  constructor({ connect, onError }: TopologyOptions) {
    this.connect = connect;
    this.#onError = onError;
  }

  /** Finds the masters, connects to them, and disconnects from other servers. Throws when this is not possible now. */
  protected abstract look(): Promise<void>;
  /** Whether every master is known, and all connections are ready. */
  protected abstract isWhole(): boolean;
  protected abstract closeConnections(): void;
  /** Sends a command to the master that stores `key`. */
  protected abstract send<Answer>(key: string, call: Call<Answer>): Promise<Answer>;
  abstract everywhere(
    args: readonly Argument[],
    except?: ReadonlySet<string>,
  ): Promise<readonly ServerReply[]>;
  abstract whereAvailable(args: readonly Argument[]): Promise<readonly ServerReply[]>;

  async start(): Promise<this> {
    while ((await this.#look()) === "degraded") await this.#waker.wait(LOOK_AGAIN_MS);
    this.#following = this.#follow();
    return this;
  }

  command(key: string, args: readonly Argument[]): Promise<Reply> {
    return this.send(key, (master) => master.command(args));
  }

  confirmed(key: string, args: readonly Argument[]): Promise<Reply> {
    return this.send(key, (master) => master.confirmed(args));
  }

  entries(key: string, args: readonly string[]): Promise<StreamEntries> {
    return this.send(key, (master) => master.entries(args));
  }

  async subscribe(pattern: string, heard: (channel: string) => void): Promise<void> {
    this.#subscriptions.push({ pattern, heard });
    if (this.messages?.isReady === true) await this.messages.subscribe(pattern, heard);
    else this.lookSoon();
  }

  async close(): Promise<void> {
    this.#enter("closed");
    this.lookSoon();
    this.closeConnections();
    await this.#following;
  }

  protected get isClosed(): boolean {
    return this.#state === "closed";
  }

  protected get hasSubscriptions(): boolean {
    return this.#subscriptions.length > 0;
  }

  /** Adds all subscriptions to a new connection. */
  protected async subscribeAgain(connection: Connection): Promise<void> {
    for (const { pattern, heard } of this.#subscriptions) await connection.subscribe(pattern, heard);
  }

  protected lookSoon(): void {
    this.#waker.wake();
  }

  /** Called with each error of a connection to a master. */
  protected readonly lost = (error: Error): void => {
    this.#onError(error);
    this.lookSoon();
  };

  async #follow(): Promise<void> {
    while (!this.isClosed) {
      await this.#waker.wait(this.#state === "whole" ? LOOK_EVERY_MS : LOOK_AGAIN_MS);
      if (!this.isClosed) await this.#look();
    }
  }

  async #look(): Promise<State> {
    await this.look().catch(this.#onError);
    if (!this.isClosed) this.#enter(this.isWhole() ? "whole" : "degraded");
    return this.#state;
  }

  #enter(next: State): void {
    if (next === this.#state) return;
    if (!NEXT[this.#state].includes(next)) {
      throw new Error(`the connections to Redis cannot go from ${this.#state} to ${next}`);
    }
    this.#state = next;
  }
}
