import { RETRY_OFFSETS_MS } from "../../contract/numbers";
import type { Part } from "../part";
import { startLoadedService } from "../service";
import { spreadOf } from "../statistics";
import { createTable } from "../table";

const WORKSPACES = 8;
/** Events per second for each workspace. Only the last attempt to push each event succeeds. */
const PER_SECOND = 6;
const WARM_UP_SECONDS = 2;
const ON_TIME_MS = 50;

/** Measures how late retries start, at a load well below the service's capacity. */
export const retries: Part = {
  name: "retries",
  what: "lateness of retries, which are due 1 s and 4 s after the first failure; figures only",
  async run(context) {
    const { options, say } = context;
    const { load, createPushed } = await startLoadedService(context);
    const workspaces = await createPushed(WORKSPACES);
    const retry = (seconds: number) =>
      load.call("retry", { workspaces, perSecond: PER_SECOND, seconds, offsetsMs: RETRY_OFFSETS_MS });

    await retry(WARM_UP_SECONDS);
    const times = ["p50 ms", "p95 ms", "p99 ms", "max ms"];
    const row = createTable(say, ["round", "due", "count", ...times, "in 50 ms"]);
    const show = (round: number | string, due: string, lateMs: readonly number[]) => {
      const { count, p50, p95, p99, max } = spreadOf(lateMs);
      const share = lateMs.filter((ms) => Math.abs(ms) <= ON_TIME_MS).length / lateMs.length;
      row([round, due, count, ...[p50, p95, p99, max].map((ms) => ms.toFixed(2)), share.toFixed(3)]);
      return { count, p50, p95, p99, max, share };
    };
    const rounds: object[] = [];
    const all: number[] = [];
    for (let number = 1; number <= options.rounds; number++) {
      const late = await retry(options.seconds);
      rounds.push(RETRY_OFFSETS_MS.map((offset, i) => show(number, `+${offset / 1000} s`, late[i] ?? [])));
      all.push(...late.flat());
    }
    const { p50, p95, p99, share } = show("all", "both", all);
    const figures = Object.entries({ p50, p95, p99 }).map(([name, ms]) => `${name}=${ms.toFixed(2)}`);
    return { lastLine: `${figures.join(" ")} within50=${share.toFixed(3)}`, raw: { rounds } };
  },
};
