import { createMetrics, SECONDS_BUCKETS, type Metrics, type Sample } from "../../runtime/metrics";
import type { RunCounts } from "./run-counts";

/** The sources that the metrics of a game read at each scrape. */
export interface MetricSources {
  readonly counts: Readonly<RunCounts>;
  /** Refused events, by reason. */
  readonly refusals: ReadonlyMap<string, number>;
  readonly workspaces: () => number;
  readonly isFollowing: () => boolean;
}

/**
 * Upper bounds of the buckets for handlers, in seconds. The last bounds are high, because handlers may wait, e.g. for
 * an API.
 */
const HANDLER_SECONDS_BUCKETS = [...SECONDS_BUCKETS, 10, 30, 60];

/** The metrics of a game. All have the label `game`. */
export class GameMetrics implements Pick<Metrics, "contentType" | "text"> {
  readonly #metrics = createMetrics();
  readonly #game: string;
  readonly #handlerSeconds: (seconds: number) => void;

  constructor(game: string) {
    this.#game = game;
    const observers = this.#metrics.histograms(
      "chatbridge_game_handler_seconds",
      "Duration of handlers.",
      HANDLER_SECONDS_BUCKETS,
      "game",
      [game],
    );
    const observer = observers(game);
    this.#handlerSeconds = (seconds) => observer.observe(seconds);
  }

  get contentType(): string {
    return this.#metrics.contentType;
  }

  text(): Promise<string> {
    return this.#metrics.text();
  }

  /** Records that a handler took `ms`. */
  handled(ms: number): void {
    this.#handlerSeconds(ms / 1_000);
  }

  /** Adds the metrics that read `sources`. Call this method once. */
  read({ counts, refusals, workspaces, isFollowing }: MetricSources): void {
    const { counter, gauge } = this.#metrics;
    const one = (value: number): readonly Sample[] => [{ labels: { game: this.#game }, value }];
    const by = (label: string, values: Iterable<readonly [string, number]>): readonly Sample[] =>
      [...values].map(([name, value]) => ({ labels: { game: this.#game, [label]: name }, value }));

    counter("chatbridge_game_events_total", "Events from core, by outcome.", () =>
      by("outcome", [
        ["handled", counts.handled],
        ["ignored", counts.ignored],
        ["too_old", counts.tooOld],
        ["dead_lettered", counts.deadLettered],
      ]),
    );
    counter(
      "chatbridge_game_invalid_presses_total",
      "Presses of buttons without a handler, or with an invalid payload.",
      () => one(counts.invalidPresses),
    );
    counter("chatbridge_game_handler_failures_total", "Errors of handlers.", () => one(counts.failed));
    counter("chatbridge_game_timers_total", "Timers that were run, or dropped after errors.", () =>
      by("outcome", [
        ["run", counts.timersRun],
        ["dropped", counts.timersDropped],
      ]),
    );
    counter("chatbridge_game_published_total", "Events that core has published.", () =>
      one(counts.published),
    );
    counter("chatbridge_game_refused_total", "Events that core has refused, by reason.", () =>
      by("reason", refusals),
    );
    counter(
      "chatbridge_game_stale_total",
      "Events that core has refused because another process has taken over their work.",
      () => one(counts.stale),
    );
    counter(
      "chatbridge_game_dropped_updates_total",
      "Updates of messages that were dropped because the id of the message is unknown.",
      () => one(counts.droppedUpdates),
    );
    counter(
      "chatbridge_game_save_conflicts_total",
      "Saves that failed because another process had saved the document first.",
      () => one(counts.conflicts),
    );
    counter("chatbridge_game_outages_total", "Failures of the store, or of publishing.", () =>
      one(counts.outages),
    );
    gauge("chatbridge_game_workspaces", "Workspaces in memory.", () => one(workspaces()));
    gauge("chatbridge_game_following", "1 while the game follows events, otherwise 0.", () =>
      one(isFollowing() ? 1 : 0),
    );
  }
}
