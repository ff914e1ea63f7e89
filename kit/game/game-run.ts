import type { Delivery } from "../../proto/gen/chatbridge/v1/game";
import type { SizeProblem } from "./chat-sizes";
import { SYSTEM_CLOCK, type GameClock } from "./clock";
import type { CoreLink, FollowListener, OpenStream } from "./core-link";
import type { Game } from "./game";
import type { GameLog } from "./log";
import { zeroCounts, type RunCounts } from "./run-counts";
import { shardOf } from "../../core/domain/shard";
import type { GameStore } from "./store";
import { QUIET_MS } from "./timer-hold";
import { WorkspaceRun, type RunContext } from "./workspace-run";

export interface GameRunOptions {
  readonly link: CoreLink;
  readonly store: GameStore;
  readonly log: GameLog;
  readonly clock?: GameClock;
  /** The group that `link` follows. Its name is the first part of the idempotency keys. */
  readonly group: string;
  /** The names of all games of the workspaces. The first game also answers commands that do not begin with a name. */
  readonly games?: readonly string[];
  /** Called with the duration of each handler, in ms. */
  readonly onHandled?: (ms: number) => void;
  /** Called for each part of a message that some chats do not show well. */
  readonly onSizeProblem?: (problem: SizeProblem) => void;
}

/** Maximum number of workspaces in memory. The least recently used workspace is dropped first. */
const WORKSPACES_MAX = 5_000;
/**
 * Delay before an empty outbox is saved, ms. In a busy workspace, the save after the next event comes sooner, and saves
 * the empty outbox too.
 */
const FLUSH_DELAY_MS = 1_000;
const RETRY_DELAY_MS = 1_000;
/** Maximum time for the work in progress when the game stops, ms. */
const STOP_WITHIN_MS = 4_000;

/** Runs a game: passes the events of each workspace to its `WorkspaceRun`, and wakes workspaces for their timers. */
export class GameRun<State> implements FollowListener {
  readonly counts: RunCounts = zeroCounts();
  readonly #context: RunContext<State>;
  readonly #clock: GameClock;
  /** By workspace id, the least recently used first. */
  readonly #runs = new Map<string, WorkspaceRun<State>>();
  /** For each workspace, cancels its next wake. Only workspaces in owned shards have a wake. */
  readonly #wakes = new Map<string, () => void>();
  readonly #owned = new Set<number>();
  /** Shards whose stored wakes are not loaded yet. */
  readonly #gained = new Set<number>();
  #loading: Promise<void> | undefined;
  #cancelRetry = (): void => undefined;
  #cancelFlush: (() => void) | undefined;
  #stream: OpenStream | undefined;
  /** The id of the newest stream. It is kept after the stream has ended, so that core refuses stale events. */
  #streamId: string | undefined;
  #isStopping = false;

  constructor(
    game: Game<State>,
    { link, store, log, clock = SYSTEM_CLOCK, group, games, onHandled, onSizeProblem }: GameRunOptions,
  ) {
    this.#clock = clock;
    this.#context = {
      game,
      names: { own: game.name, all: games ?? [game.name] },
      group,
      link,
      store,
      clock,
      log,
      counts: this.counts,
      onHandled: onHandled ?? (() => undefined),
      onSizeProblem: onSizeProblem ?? (() => undefined),
      streamId: () => this.#streamId || undefined,
      onWake: (workspaceId, atMs) => this.#setWake(workspaceId, atMs),
      onIdle: () => this.#planFlush(),
    };
  }

  get isFollowing(): boolean {
    return this.#stream !== undefined;
  }

  /** Whether the game follows events, and has read the timers of its shards from the store. */
  get isReady(): boolean {
    return this.isFollowing && this.#gained.size === 0 && this.#loading === undefined;
  }

  /** The number of workspaces in memory. */
  get workspaces(): number {
    return this.#runs.size;
  }

  run(): void {
    this.#context.link.follow(this);
  }

  /** Finishes the work in progress, and closes the link. Core redelivers unhandled events to another process. */
  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const { link } = this.#context;
    link.pause();
    const waiting = [...this.#wakes.keys()];
    this.#cancelTimers();
    const late = new Promise<void>((resolve) => setTimeout(resolve, STOP_WITHIN_MS).unref());
    await Promise.race([this.#finish(waiting), late]);
    await link.close();
  }

  /** Stops everything at once, as a crash does. */
  kill(): void {
    this.#isStopping = true;
    this.#cancelTimers();
    this.#dropAll();
  }

  /** Resolves when no handler, save or publication is in progress. */
  async settled(): Promise<void> {
    for (;;) {
      const running = [...this.#runs.values()].flatMap((run) => run.running ?? []);
      if (this.#loading !== undefined) running.push(this.#loading);
      if (running.length === 0) return;
      await Promise.all(running);
    }
  }

  opened(stream: OpenStream): void {
    this.#stream = stream;
    this.#streamId = stream.streamId;
    // A core that does not support assignments sends no stream id. This process then runs the timers of all workspaces.
    if (stream.streamId === "")
      this.gained(Array.from({ length: Math.max(1, stream.shards) }, (_, shard) => shard));
  }

  gained(shards: readonly number[]): void {
    for (const shard of shards) {
      this.#owned.add(shard);
      this.#gained.add(shard);
    }
    this.#loadWakes();
  }

  lost(shards: readonly number[]): void {
    for (const shard of shards) {
      this.#owned.delete(shard);
      this.#gained.delete(shard);
    }
    this.#drop((workspaceId) => !this.#owns(workspaceId));
  }

  delivered(delivery: Delivery): void {
    const workspaceId = delivery.received?.workspaceId;
    if (workspaceId === undefined || this.#isStopping) return;
    this.#runOf(workspaceId).deliver(delivery);
  }

  ended(): void {
    this.#stream = undefined;
    this.#owned.clear();
    this.#gained.clear();
    this.#dropAll();
  }

  #owns(workspaceId: string): boolean {
    return (
      this.#stream !== undefined && this.#owned.has(shardOf(workspaceId, Math.max(1, this.#stream.shards)))
    );
  }

  #runOf(workspaceId: string): WorkspaceRun<State> {
    const run = this.#runs.get(workspaceId) ?? new WorkspaceRun(workspaceId, this.#context);
    this.#runs.delete(workspaceId);
    this.#runs.set(workspaceId, run);
    if (this.#runs.size > WORKSPACES_MAX) this.#evict(workspaceId);
    return run;
  }

  #evict(except: string): void {
    for (const [id, run] of this.#runs) {
      if (id !== except && run.isClean) return void this.#runs.delete(id);
    }
  }

  #dropAll(): void {
    this.#drop(() => true);
  }

  #drop(isDropped: (workspaceId: string) => boolean): void {
    for (const [id, run] of this.#runs) {
      if (!isDropped(id)) continue;
      run.drop();
      if (run.running === undefined) this.#runs.delete(id);
    }
    for (const [id, cancel] of this.#wakes) {
      if (!isDropped(id)) continue;
      cancel();
      this.#wakes.delete(id);
    }
  }

  #setWake(workspaceId: string, atMs: number | undefined): void {
    this.#wakes.get(workspaceId)?.();
    this.#wakes.delete(workspaceId);
    if (atMs === undefined || this.#isStopping || !this.#owns(workspaceId)) return;
    const dueAtMs = Math.max(atMs, this.#clock.now());
    const cancel = this.#clock.at(dueAtMs, () => {
      this.#wakes.delete(workspaceId);
      const nowMs = this.#clock.now();
      // A process that was suspended first reads what core has sent meanwhile, and then runs overdue timers.
      if (nowMs > dueAtMs + QUIET_MS) this.#setWake(workspaceId, nowMs + QUIET_MS);
      else this.#runOf(workspaceId).wake();
    });
    this.#wakes.set(workspaceId, cancel);
  }

  /** Loads the stored wakes of newly gained shards. */
  #loadWakes(): void {
    this.#loading ??= this.#loadGained();
  }

  async #loadGained(): Promise<void> {
    // Core can report several shards one after the other. Their wakes are loaded together.
    await Promise.resolve();
    while (this.#gained.size > 0 && !this.#isStopping) {
      // A shard that is lost and gained again during the load is loaded again.
      const shards = new Set(this.#gained);
      this.#gained.clear();
      const stream = this.#stream;
      try {
        const wakes = await this.#context.store.wakes();
        if (stream === undefined || stream !== this.#stream) continue;
        for (const { workspaceId, atMs } of wakes) {
          const shard = shardOf(workspaceId, Math.max(1, stream.shards));
          // A workspace that already has a wake has handled an event meanwhile, so its wake is newer than the stored
          // wake.
          if (!shards.has(shard) || this.#wakes.has(workspaceId)) continue;
          // Overdue timers wait until core has delivered the events of members that came before them.
          const nowMs = this.#clock.now();
          this.#setWake(workspaceId, atMs < nowMs ? nowMs + QUIET_MS : atMs);
        }
      } catch (error) {
        if (stream === this.#stream) {
          for (const shard of shards) if (this.#owned.has(shard)) this.#gained.add(shard);
        }
        this.#context.log.warn({ error: String(error) }, "cannot load the timers, retrying");
        this.#cancelRetry();
        this.#cancelRetry = this.#clock.at(this.#clock.now() + RETRY_DELAY_MS, () => this.#loadWakes());
        break;
      }
    }
    // Nothing is awaited between the last check and this line, so shards that are gained later start another load.
    this.#loading = undefined;
  }

  #planFlush(): void {
    if (this.#isStopping || this.#cancelFlush !== undefined) return;
    this.#cancelFlush = this.#clock.at(this.#clock.now() + FLUSH_DELAY_MS, () => {
      this.#cancelFlush = undefined;
      for (const run of this.#runs.values()) run.flush();
    });
  }

  /** @param waiting the workspaces with timers */
  async #finish(waiting: readonly string[]): Promise<void> {
    for (const run of this.#runs.values()) run.stopTaking();
    await this.settled();
    // A workspace with timers may not be in memory, e.g. after an outage of core.
    if (this.#context.game.handlers.stop !== undefined) for (const id of waiting) this.#runOf(id);
    for (const run of this.#runs.values()) run.stop();
    await this.settled();
  }

  #cancelTimers(): void {
    for (const cancel of this.#wakes.values()) cancel();
    this.#wakes.clear();
    this.#cancelRetry();
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
  }
}
