import type { InboundEvent } from "../../../../proto/gen/chatbridge/v1/event";
import type { CoreLink } from "../../core-link";
import type { Game } from "../../game";
import { GameRun } from "../../game-run";
import type { GameStore } from "../../store";
import { memoryStore } from "../../store";
import { MemoryCore } from "../../testing/memory-core";
import { MemoryLink } from "../../testing/memory-link";
import { VirtualClock } from "../../testing/virtual-clock";

export const WORKSPACE = "00000000-0000-4000-8000-000000000001";

/** A game with processes, on a core in memory. */
export class World<State> {
  readonly clock = new VirtualClock();
  readonly core = new MemoryCore(this.clock);
  readonly store: GameStore;
  readonly logged: string[] = [];
  readonly processes: { readonly run: GameRun<State>; readonly link: MemoryLink }[] = [];
  readonly #game: Game<State>;

  constructor(game: Game<State>, store: GameStore = memoryStore()) {
    this.#game = game;
    this.store = store;
    this.core.addWorkspace(WORKSPACE);
  }

  /** Starts a process of the game. */
  start(
    store: GameStore = this.store,
    consumer = `process-${this.processes.length}`,
    wrapped: (link: MemoryLink) => CoreLink = (link) => link,
  ): GameRun<State> {
    const { clock, core, logged } = this;
    const log = (fields: object, message: string): void =>
      void logged.push(`${message} ${JSON.stringify(fields)}`);
    const link = new MemoryLink(core, { group: "game", consumer });
    const run = new GameRun(this.#game, {
      link: wrapped(link),
      store,
      clock,
      group: "game",
      log: { info: log, warn: log, error: log },
    });
    this.processes.push({ run, link });
    run.run();
    return run;
  }

  /** Stops a process as a crash would. */
  kill(run: GameRun<State>): void {
    run.kill();
    this.processes.find((each) => each.run === run)?.link.kill();
  }

  async settled(): Promise<void> {
    for (const { run } of this.processes) await run.settled();
  }

  async does(
    kind: NonNullable<InboundEvent["kind"]>,
    user = "ada",
    channel = "room",
    workspace = WORKSPACE,
  ): Promise<void> {
    this.core.receive(workspace, { channel: { id: channel }, user: { id: user, name: user }, kind });
    await this.settled();
  }

  command(text: string, user?: string): Promise<void> {
    return this.does({ $case: "command", value: { text } }, user);
  }

  types(text: string, user?: string, channel?: string, replyTo?: string): Promise<void> {
    return this.does(
      { $case: "message", value: { text, ...(replyTo !== undefined && { replyTo }) } },
      user,
      channel,
    );
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advanceSettled(ms, () => this.settled());
  }

  /** Returns the texts that the chat shows, in the order of posting. */
  get shown(): readonly string[] {
    return (this.core.workspace(WORKSPACE)?.messages ?? []).map(({ place, to, content }) => {
      const seenBy = to === undefined ? "" : ` (${to})`;
      return `${place}${seenBy}: ${content.text}`;
    });
  }

  /** Returns the number of events that the bridge got. */
  get sent(): number {
    return this.core.workspace(WORKSPACE)?.outbound.length ?? 0;
  }
}
