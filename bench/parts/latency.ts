import { makeCertificate } from "../certificate";
import { createWorkspaces } from "../core-clients";
import type { Part } from "../part";
import { pushesTo, startService } from "../service";
import { median, spreadOf, type Spread } from "../statistics";
import { INBOUND_STREAMS } from "../store";
import { createSpreadTable } from "../table";
import type { LatencyLoad } from "../workers/latency-load";
import { LOAD_FLAGS, startWorker } from "../worker";

const POSTING = 16;
/** Half the limit of a workspace (check 6), because requests delayed by a stall arrive together with later ones. */
const POSTS_PER_SECOND = 125;
const PUSHED = 8;
const PUSHES_PER_SECOND = 50;
/** Seconds until three processes have compiled their hot code at such a rate. */
const WARM_UP_SECONDS = 15;

/** Measures latencies at a load well below the service's capacity. */
export const latency: Part = {
  name: "latency",
  what: "how long a 202 and a push take at a fixed rate; figures only",
  async run(context) {
    const { scope, options, say } = context;
    const certificate = makeCertificate(scope);
    const { clients, store, url, coreAddress } = await startService(context, pushesTo(certificate));
    const load = await startWorker<LatencyLoad>(scope, "latency-load", LOAD_FLAGS);
    const { port } = await load.call("start", { ...certificate, coreAddress });
    const posting = await createWorkspaces(clients, POSTING);
    const pushed = await createWorkspaces(clients, PUSHED, `https://127.0.0.1:${port}/events`);

    const post = async (run: string, seconds: number): Promise<Spread> => {
      const rate = { workspaces: posting, perSecond: POSTS_PER_SECOND, seconds };
      const latencies = await load.call("post", { ...rate, origin: url, run });
      await store.assertEntries(INBOUND_STREAMS, latencies.length, "events were answered with 202");
      await store.emptyStreams(INBOUND_STREAMS);
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
