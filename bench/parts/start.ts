import { POLL_INTERVAL_MS } from "../../contract/numbers";
import { createWorkspaces } from "../core-clients";
import type { Part } from "../part";
import { startLoadedService } from "../service";
import { spreadOf, type Spread } from "../statistics";
import { createSpreadTable } from "../table";
import type { LatencyLoad } from "../workers/latency-load";
import { LOAD_FLAGS, startWorker } from "../worker";

/** Number of players in a game. All of them press the button that starts the game. */
const PLAYERS = 200;
/** Number of games. The games start in turn, so that no workspace gets more than 250 requests per second. */
const GAMES = 16;
const STARTS_PER_SECOND = 1;
/**
 * Numbers of connections that the game's bridge keeps open: a few connections with many consecutive requests each, or
 * one for each player.
 */
const CONNECTIONS = [16, PLAYERS] as const;
const POLLING = 2_000;
const POLLS_PER_SECOND = 1_000 / POLL_INTERVAL_MS;
const PUSHED = 100;
const PUSHES_PER_SECOND = 1;
const WARM_UP_SECONDS = 6;
/** Minimum number of starts. The p99 of fewer starts would be meaningless. */
const STARTS_MIN = 24;

type Side = "beside" | "alone";

/**
 * Measures how long the start of a game takes with the load of other workspaces, and without it. The same service is
 * measured alternately with and without this load, because two services would share the processors.
 */
export const start: Part = {
  name: "start",
  what: `how long ${PLAYERS} presses at once take beside ${POLLING} polling and ${PUSHED} push workspaces, compared with none`,
  async run(context) {
    const { scope, options, say } = context;
    const service = await startLoadedService(context);
    const { clients, store, url: origin, load: pushes } = service;
    const presses = await startWorker<LatencyLoad>(scope, "latency-load", LOAD_FLAGS);
    const polls = await startWorker<LatencyLoad>(scope, "latency-load", LOAD_FLAGS);
    const games = await createWorkspaces(clients, GAMES);
    const polling = await createWorkspaces(clients, POLLING);
    const pushed = await service.createPushed(PUSHED);

    let runs = 0;
    const press = async (connections: number, seconds: number): Promise<readonly number[]> => {
      const rate = { workspaces: games, perSecond: STARTS_PER_SECOND / GAMES, seconds };
      const input = { ...rate, origin, run: `r${++runs}`, presses: PLAYERS, connections };
      const latencies = await presses.call("press", input);
      await store.settleInbound(latencies.length * PLAYERS);
      return latencies.map((each) => Math.max(...each));
    };
    const measure = async (side: Side, connections: number, seconds: number): Promise<readonly number[]> => {
      if (side === "alone") return press(connections, seconds);
      const [latencies] = await Promise.all([
        press(connections, seconds),
        polls.call("poll", { workspaces: polling, perSecond: POLLS_PER_SECOND, seconds, origin }),
        pushes.call("push", { workspaces: pushed, perSecond: PUSHES_PER_SECOND, seconds }),
      ]);
      return latencies;
    };

    await measure("beside", PLAYERS, WARM_UP_SECONDS);
    const times = CONNECTIONS.map((connections) => ({
      connections,
      beside: [] as number[],
      alone: [] as number[],
    }));
    const seconds = Math.max(options.seconds, STARTS_MIN / STARTS_PER_SECOND / options.rounds);
    for (let round = 0; round < options.rounds; round++) {
      for (const each of times) {
        // The side that comes first changes from round to round.
        const sides: readonly Side[] = round % 2 === 0 ? ["alone", "beside"] : ["beside", "alone"];
        for (const side of sides) each[side].push(...(await measure(side, each.connections, seconds)));
      }
    }

    const show = createSpreadTable(say);
    const results = times.map(({ connections, ...sides }) => {
      const [beside, alone] = [spreadOf(sides.beside), spreadOf(sides.alone)];
      show(connections, "beside", beside);
      show(connections, "alone", alone);
      return { connections, beside, alone, ratio: beside.p50 / alone.p50 };
    });
    const words = results.map(
      ({ connections: n, beside, alone }) => `beside${n}=${both(beside)} alone${n}=${both(alone)}`,
    );
    const figure = Math.max(...results.map(({ ratio }) => ratio));
    return { lastLine: `ratio=${figure.toFixed(2)} ${words.join(" ")}`, figure, raw: { results, times } };
  },
};

/** Returns the median and the p99, in ms. */
function both({ p50, p99 }: Spread): string {
  return `${p50.toFixed(1)}/${p99.toFixed(1)}`;
}
