import { POLL_INTERVAL_MS } from "../../contract/numbers";
import { findCapacity, AFTER_SEARCH_SECONDS, MEASURED_SHARE } from "../capacity";
import { createWorkspaces, type Workspace } from "../core-clients";
import { withCpuPercent, type CpuTimes } from "../cpu";
import type { Part } from "../part";
import { startLoadedService } from "../service";
import { median, middleOf, spreadOf, type Spread } from "../statistics";
import { createSpreadTable } from "../table";
import type { LatencyLoad } from "../workers/latency-load";
import { LOAD_FLAGS, startWorker } from "../worker";

/** Number of players in a game. All of them answer at the same moment. */
const PLAYERS = 200;
/**
 * Number of games. The games take turns, so that even with late answers, a workspace stays below its rate limit of 250
 * requests per second.
 */
const GAMES = 64;
const POLLING = 2_000;
const PUSHED = 100;
/** Requests and events per second at load 1. Any other load has the same proportions. */
const PER_SECOND = { answers: 100, polls: POLLING / (POLL_INTERVAL_MS / 1_000), pushes: PUSHED } as const;
const FIRST_LOAD = 0.5;
const WARM_UP_SECONDS = 6;

const WHATS = ["post", "poll", "push"] as const;

interface MixedRound {
  readonly spreads: Readonly<Record<(typeof WHATS)[number], Spread>>;
  readonly percent: CpuTimes;
}

/** Measures latencies under all kinds of load at the same time, below the capacity of the processors. */
export const mixed: Part = {
  name: "mixed",
  what: `${PLAYERS} players answer at once, with ${POLLING} polling and ${PUSHED} push workspaces, at half of the capacity`,
  async run(context) {
    const { scope, options, say } = context;
    const service = await startLoadedService(context);
    const { clients, pids, store, url: origin, load: pushes } = service;
    // A separate process generates each kind of load, so that no kind delays another.
    const posts = await startWorker<LatencyLoad>(scope, "latency-load", LOAD_FLAGS);
    const polls = await startWorker<LatencyLoad>(scope, "latency-load", LOAD_FLAGS);
    const games = await createWorkspaces(clients, GAMES);
    const polling = await createWorkspaces(clients, POLLING);
    const pushed = await service.createPushed(PUSHED);

    let runs = 0;
    const measure = async (times: number, seconds: number): Promise<MixedRound> => {
      const rate = (workspaces: readonly Workspace[], perSecond: number) => ({
        workspaces,
        perSecond: (perSecond * times) / workspaces.length,
        seconds,
      });
      const presses = {
        ...rate(games, PER_SECOND.answers / PLAYERS),
        presses: PLAYERS,
        connections: PLAYERS,
      };
      const { result, percent } = await withCpuPercent(pids, () =>
        Promise.all([
          posts.call("press", { ...presses, origin, run: `r${++runs}` }),
          polls.call("poll", { ...rate(polling, PER_SECOND.polls), origin }),
          pushes.call("push", rate(pushed, PER_SECOND.pushes)),
        ]),
      );
      const [answers, poll, push] = result;
      const post = answers.flat();
      await store.settleInbound(post.length);
      return { spreads: { post: spreadOf(post), poll: spreadOf(poll), push: spreadOf(push) }, percent };
    };

    await measure(1, WARM_UP_SECONDS);
    const perSecondOfOne = Object.values(PER_SECOND).reduce((sum, each) => sum + each, 0);
    const capacity = await findCapacity(FIRST_LOAD * perSecondOfOne, async (rate, seconds) => {
      const { spreads } = await measure(rate / perSecondOfOne, seconds);
      return WHATS.reduce((sum, what) => sum + spreads[what].count, 0);
    });
    const load = (capacity / perSecondOfOne) * MEASURED_SHARE;
    say(`capacity: ${capacity.toFixed(0)} per second; measured with ${load.toFixed(2)} times the usual load`);
    await measure(load, AFTER_SEARCH_SECONDS);
    const show = createSpreadTable(say);
    const rounds: MixedRound[] = [];
    for (let number = 1; number <= options.rounds; number++) {
      const round = await measure(load, options.seconds);
      rounds.push(round);
      for (const what of WHATS) show(number, what, round.spreads[what]);
      const percents = Object.entries(round.percent).map(([name, of]) => `${name} ${of.toFixed(1)} %`);
      say(`${percents.join(", ")} of one processor`);
    }

    const middles = WHATS.map((what) => ({ what, ...middleOf(rounds.map(({ spreads }) => spreads[what])) }));
    const times = middles.map(
      ({ what, p50, p99 }) => `${what}_p50=${p50.toFixed(2)} ${what}_p99=${p99.toFixed(2)}`,
    );
    const cores = Object.keys(pids).map((name) => {
      const percent = median(rounds.map((round) => round.percent[name] ?? NaN));
      return `${name}=${percent.toFixed(1)}`;
    });
    const figure = Math.max(...middles.map(({ ratio }) => ratio));
    const first = `ratio=${figure.toFixed(2)} load=${load.toFixed(2)}`;
    return { lastLine: [first, ...times, ...cores].join(" "), figure, raw: { capacity, load, rounds } };
  },
};
