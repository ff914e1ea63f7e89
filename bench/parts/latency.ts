import { createWorkspaces } from "../core-clients";
import type { Part } from "../part";
import { startLoadedService } from "../service";
import { median, spreadOf, type Spread } from "../statistics";
import { createSpreadTable } from "../table";

const POSTING = 16;
/**
 * Requests per second for each workspace: half the rate limit, because overdue and new requests arrive together after a
 * stall.
 */
const POSTS_PER_SECOND = 125;
const PUSHED = 8;
const PUSHES_PER_SECOND = 50;
/** Seconds that core, the edge and the load generator need at these rates until their hot code is compiled. */
const WARM_UP_SECONDS = 15;

/** Measures latencies at a load well below the service's capacity. */
export const latency: Part = {
  name: "latency",
  what: "how long a 202 and a push take at a fixed rate; figures only",
  async run(context) {
    const { options, say } = context;
    const { clients, store, url: origin, load, createPushed } = await startLoadedService(context);
    const posting = await createWorkspaces(clients, POSTING);
    const pushed = await createPushed(PUSHED);

    const post = async (run: string, seconds: number): Promise<Spread> => {
      const rate = { workspaces: posting, perSecond: POSTS_PER_SECOND, seconds };
      const latencies = await load.call("post", { ...rate, origin, run });
      await store.settleInbound(latencies.length);
      return spreadOf(latencies);
    };
    const push = async (seconds: number): Promise<Spread> =>
      spreadOf(await load.call("push", { workspaces: pushed, perSecond: PUSHES_PER_SECOND, seconds }));

    await post("warmup", WARM_UP_SECONDS);
    await push(WARM_UP_SECONDS);
    const show = createSpreadTable(say);
    const rounds: { readonly accepted: Spread; readonly push: Spread }[] = [];
    for (let number = 1; number <= options.rounds; number++) {
      const accepted = await post(`r${number}`, options.seconds);
      show(number, "202", accepted);
      const came = await push(options.seconds);
      show(number, "push", came);
      rounds.push({ accepted, push: came });
    }

    const p50 = median(rounds.map(({ accepted }) => accepted.p50));
    const p99 = median(rounds.map(({ accepted }) => accepted.p99));
    const pushP99 = median(rounds.map(({ push: { p99 } }) => p99));
    const accepted = `p50=${p50.toFixed(2)} p99=${p99.toFixed(2)} ratio=${(p99 / p50).toFixed(2)}`;
    return { lastLine: `${accepted} push_p99=${pushP99.toFixed(2)}`, raw: { rounds } };
  },
};
