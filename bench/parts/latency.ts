import { findCapacity, AFTER_SEARCH_SECONDS, MEASURED_SHARE } from "../capacity";
import { createWorkspaces } from "../core-clients";
import type { Part } from "../part";
import { startLoadedService } from "../service";
import { middleOf, spreadOf, type Spread } from "../statistics";
import { createSpreadTable } from "../table";
import { startReferenceServer } from "./http";

/**
 * Number of workspaces that get POSTs: so many that no workspace reaches its rate limit at the machine's capacity, even
 * just after a stall.
 */
const POSTING = 128;
const PUSHED = 64;
/** Rates of the warm-up, and of the first step of the search for the capacity. */
const FIRST_POSTS_PER_SECOND = 1_000;
const FIRST_PUSHES_PER_SECOND = 200;
/** Seconds at these rates after which the hot code of core, the edge and the load generator is compiled. */
const WARM_UP_SECONDS = 10;

/**
 * Measures latencies at half of the capacity that this machine has for the load. The reference gets the same requests,
 * at half of its own capacity: its ratio shows how much of the ratio comes from the machine and from Node.
 */
export const latency: Part = {
  name: "latency",
  what: "how long a 202 and a push take at half of the machine's capacity",
  async run(context) {
    const { options, say } = context;
    const { clients, store, url: origin, load, createPushed } = await startLoadedService(context);
    const posting = await createWorkspaces(clients, POSTING);
    const pushed = await createPushed(PUSHED);

    const reference = await startReferenceServer(context, posting);
    let runs = 0;
    const latenciesOf = (to: string, rate: number, seconds: number) =>
      load.call("post", {
        workspaces: posting,
        perSecond: rate / POSTING,
        seconds,
        origin: to,
        run: `r${++runs}`,
      });
    const post = async (rate: number, seconds: number): Promise<Spread> => {
      const latencies = await latenciesOf(origin, rate, seconds);
      await store.settleInbound(latencies.length);
      return spreadOf(latencies);
    };
    const postToReference = async (rate: number, seconds: number): Promise<Spread> =>
      spreadOf(await latenciesOf(reference.origin, rate, seconds));
    const push = async (rate: number, seconds: number): Promise<Spread> =>
      spreadOf(await load.call("push", { workspaces: pushed, perSecond: rate / PUSHED, seconds }));

    const find = async (what: string, send: typeof post, first: number): Promise<number> => {
      await send(first, WARM_UP_SECONDS);
      const capacity = await findCapacity(first, async (rate, seconds) => (await send(rate, seconds)).count);
      say(`capacity: ${capacity.toFixed(0)} per second (${what})`);
      await send(capacity * MEASURED_SHARE, AFTER_SEARCH_SECONDS);
      return capacity;
    };
    const capacities = {
      posts: await find("202", post, FIRST_POSTS_PER_SECOND),
      pushes: await find("push", push, FIRST_PUSHES_PER_SECOND),
      reference: await find("reference", postToReference, FIRST_POSTS_PER_SECOND),
    };

    const show = createSpreadTable(say);
    const rounds: { readonly accepted: Spread; readonly push: Spread; readonly reference: Spread }[] = [];
    for (let number = 1; number <= options.rounds; number++) {
      const accepted = await post(capacities.posts * MEASURED_SHARE, options.seconds);
      show(number, "202", accepted);
      const came = await push(capacities.pushes * MEASURED_SHARE, options.seconds);
      show(number, "push", came);
      const answered = await postToReference(capacities.reference * MEASURED_SHARE, options.seconds);
      show(number, "reference", answered);
      rounds.push({ accepted, push: came, reference: answered });
    }

    const accepted = middleOf(rounds.map((round) => round.accepted));
    const pushes = middleOf(rounds.map((round) => round.push));
    const bare = middleOf(rounds.map((round) => round.reference));
    const words = [
      `ratio=${accepted.ratio.toFixed(2)} push_ratio=${pushes.ratio.toFixed(2)}`,
      `p50=${accepted.p50.toFixed(2)} p99=${accepted.p99.toFixed(2)}`,
      `push_p50=${pushes.p50.toFixed(2)} push_p99=${pushes.p99.toFixed(2)}`,
      `reference_ratio=${bare.ratio.toFixed(2)}`,
      `reference_p50=${bare.p50.toFixed(2)} reference_p99=${bare.p99.toFixed(2)}`,
      `capacity=${capacities.posts.toFixed(0)} push_capacity=${capacities.pushes.toFixed(0)}`,
      `reference_capacity=${capacities.reference.toFixed(0)}`,
    ];
    const figure = Math.max(accepted.ratio, pushes.ratio);
    return { lastLine: words.join(" "), figure, raw: { capacities, rounds } };
  },
};
