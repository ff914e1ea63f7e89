import { setTimeout as sleep } from "node:timers/promises";
import { POLL_INTERVAL_MS } from "../../contract/numbers";
import { createWorkspaces } from "../core-clients";
import { withCpuPercent } from "../cpu";
import type { Part } from "../part";
import { startService } from "../service";
import { createTable } from "../table";
import type { LatencyLoad } from "../workers/latency-load";
import { LOAD_FLAGS, startWorker } from "../worker";

const POLLING = 1_000;
/** Seconds between two polls of a workspace, as the contract recommends. */
const POLL_EVERY_SECONDS = POLL_INTERVAL_MS / 1_000;
/**
 * Seconds from the start of the service until its processes are idle. At first, the processes load and compile their
 * code.
 */
const SETTLE_SECONDS = 5;
const WARM_UP_SECONDS = 6;

/** Measures the service without events: first without requests, then with polls that return nothing. */
export const idle: Part = {
  name: "idle",
  what: `processor time and writes with no request, and with ${POLLING} polling workspaces; figures only`,
  async run(context) {
    const { options, say, scope } = context;
    const { clients, pids, store, url: origin } = await startService(context);
    // An idle process uses too little processor time to measure in a single round.
    const seconds = options.rounds * options.seconds;

    const measure = async (run: () => Promise<unknown>) => {
      const before = await store.written();
      const { percent } = await withCpuPercent(pids, run);
      const after = await store.written();
      return {
        percent,
        writesPerSecond: (after.changes - before.changes) / seconds,
        fileBytesPerSecond: (after.fileBytes - before.fileBytes) / seconds,
      };
    };

    await sleep(SETTLE_SECONDS * 1000);
    const alone = await measure(() => sleep(seconds * 1000));
    const load = await startWorker<LatencyLoad>(scope, "latency-load", LOAD_FLAGS);
    const workspaces = await createWorkspaces(clients, POLLING);
    const rate = { workspaces, perSecond: 1 / POLL_EVERY_SECONDS, origin };
    await load.call("poll", { ...rate, seconds: WARM_UP_SECONDS });
    const polled = await measure(() => load.call("poll", { ...rate, seconds }));

    const names = Object.keys(pids);
    const row = createTable(say, ["polls/s", ...names.map((name) => `${name} %`), "writes/s", "AOF bytes/s"]);
    const figuresOf = ({ percent, writesPerSecond, fileBytesPerSecond }: typeof alone) => ({
      ...Object.fromEntries(names.map((name) => [name, (percent[name] ?? NaN).toFixed(2)])),
      writes: writesPerSecond.toFixed(0),
      aof_bytes: fileBytesPerSecond.toFixed(0),
    });
    const [still, polling] = [figuresOf(alone), figuresOf(polled)];
    row([0, ...Object.values(still)]);
    row([POLLING / POLL_EVERY_SECONDS, ...Object.values(polling)]);

    const figures = [
      ...Object.entries(still).filter(([name]) => names.includes(name)),
      ...Object.entries(polling).map(([name, value]) => [`polling_${name}`, value]),
    ];
    const lastLine = figures.map(([name, value]) => `${name}=${value}`).join(" ");
    return { lastLine, raw: { seconds, alone, polled } };
  },
};
