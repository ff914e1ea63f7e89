import { POLL_INTERVAL_MS } from "../../contract/numbers";
import { createWorkspaces } from "../core-clients";
import { withCpuPercent, type CpuTimes } from "../cpu";
import type { Part } from "../part";
import { startLoadedService } from "../service";
import { median, spreadOf, type Spread } from "../statistics";
import { createSpreadTable } from "../table";
import type { LatencyLoad } from "../workers/latency-load";
import { LOAD_FLAGS, startWorker } from "../worker";

/** Players of one game, who all answer at the same moment. */
const PLAYERS = 200;
/** All players answer every 2 s. Even if they all answer a second late, fewer than 250 answers arrive per second. */
const ANSWERS_PER_SECOND = 100;
const POLLING = 2_000;
/** Seconds between two polls of a workspace, as the contract recommends. */
const POLL_EVERY_SECONDS = POLL_INTERVAL_MS / 1_000;
const PUSHED = 100;
const PUSHES_PER_SECOND = 1;
const WARM_UP_SECONDS = 6;

const WHATS = ["post", "poll", "push"] as const;

interface MixedRound {
  readonly spreads: Readonly<Record<(typeof WHATS)[number], Spread>>;
  readonly percent: CpuTimes;
}

/** Measures latencies under all kinds of load at the same time, below the capacity of the processors. */
export const mixed: Part = {
  name: "mixed",
  what: `${PLAYERS} players answer at once, together with ${POLLING} polling and ${PUSHED} push workspaces; figures only`,
  async run(context) {
    const { scope, options, say } = context;
    const service = await startLoadedService(context);
    const { clients, pids, store, url: origin, load: pushes } = service;
    // Each load has its own process, so that no load delays another.
    const posts = await startWorker<LatencyLoad>(scope, "latency-load", LOAD_FLAGS);
    const polls = await startWorker<LatencyLoad>(scope, "latency-load", LOAD_FLAGS);
    const game = await createWorkspaces(clients, 1);
    const polling = await createWorkspaces(clients, POLLING);
    const pushed = await service.createPushed(PUSHED);

    const measure = async (run: string, seconds: number): Promise<MixedRound> => {
      const answers = { workspaces: game, perSecond: ANSWERS_PER_SECOND, atOnce: PLAYERS, seconds };
      const { result, percent } = await withCpuPercent(pids, () =>
        Promise.all([
          posts.call("post", { ...answers, origin, run }),
          polls.call("poll", { workspaces: polling, perSecond: 1 / POLL_EVERY_SECONDS, seconds, origin }),
          pushes.call("push", { workspaces: pushed, perSecond: PUSHES_PER_SECOND, seconds }),
        ]),
      );
      const [post, poll, push] = result;
      await store.settleInbound(post.length);
      return { spreads: { post: spreadOf(post), poll: spreadOf(poll), push: spreadOf(push) }, percent };
    };

    await measure("warmup", WARM_UP_SECONDS);
    const show = createSpreadTable(say);
    const rounds: MixedRound[] = [];
    for (let number = 1; number <= options.rounds; number++) {
      const round = await measure(`r${number}`, options.seconds);
      rounds.push(round);
      for (const what of WHATS) show(number, what, round.spreads[what]);
      const percents = Object.entries(round.percent).map(([name, of]) => `${name} ${of.toFixed(1)} %`);
      say(`${percents.join(", ")} of one processor`);
    }

    const times = WHATS.flatMap((what) => {
      const of = (name: "p50" | "p99") => median(rounds.map(({ spreads }) => spreads[what][name])).toFixed(2);
      return [`${what}_p50=${of("p50")}`, `${what}_p99=${of("p99")}`];
    });
    const cores = Object.keys(pids).map((name) => {
      const percent = median(rounds.map((round) => round.percent[name] ?? NaN));
      return `${name}=${percent.toFixed(1)}`;
    });
    return { lastLine: [...times, ...cores].join(" "), raw: { rounds } };
  },
};
