import { createWorkspaces, type Workspace } from "../core-clients";
import { startHttpLoad, type HttpLoad } from "../load/http-load";
import { createPolls } from "../load/polls";
import { heldPublishing, publishSome } from "../load/publishing";
import type { Part } from "../part";
import { startService, type Service } from "../service";
import { alternate, memoryTimesOf, type Contest, type Pair, type Side } from "../slices";
import { median, spreadLine } from "../statistics";
import { PAGE_EVENTS, storedPosts, WORKSPACES } from "./http";

const SIZES = [1_000, 10_000, 100_000];
const HELD_EVENTS = 1_000_000;
/**
 * Number of workspaces that share `HELD_EVENTS`. Each workspace may be polled 250 times per second, so all 64 together
 * may be polled 16,000 times per second.
 */
const HOLDERS = 64;
/** Number of pairs of slices for each of the seven measurements, as a share of the option `--slices`. */
const PAIRS_SHARE = 1 / 3;
const NAMES = { ours: "many", reference: "few" };

/**
 * Compares the speed of a service that grows, at each of its sizes, with the speed of a second service that stays
 * small.
 */
export const growth: Part = {
  name: "growth",
  what: "POSTs, publishing and polls with many workspaces and held events, compared with few workspaces and held events",
  async run(context) {
    const { options, say, scope } = context;
    const load = await startHttpLoad(scope);
    const scaled = (size: number): number => Math.max(WORKSPACES, Math.round(size * options.scale));
    const [small, large] = [await startService(context), await startService(context)];
    const few = await createWorkspaces(small.clients, WORKSPACES);
    const many: Workspace[] = [];
    const measured: { readonly what: string; readonly size: number; readonly pairs: readonly Pair[] }[] = [];
    const pairs = Math.ceil(options.slices * PAIRS_SHARE);
    const measure = async (what: string, size: number, contest: Omit<Contest, "names">): Promise<void> => {
      say(`${what}:`);
      measured.push({ what, size, ...(await alternate(context, { ...contest, pairs, names: NAMES })) });
    };

    for (const size of SIZES.map(scaled)) {
      const added = await createWorkspaces(large.clients, size - many.length);
      // The first event of a workspace creates the workspace's stream of held events. Creating a stream takes the same
      // time at any size, so these events are published before the measurement.
      await publishSome(large.clients, added, added.length);
      await large.store.emptyHeld();
      many.push(...added);
      await measure(`POSTs to ${size} workspaces, compared with ${few.length}`, size, {
        unit: "requests",
        ours: storedPosts(await load.posts(many), large),
        reference: storedPosts(await load.posts(few), small),
      });
      await measure(`publishing to ${size} workspaces, compared with 1`, size, {
        unit: "events",
        ours: heldPublishing(large, many, large.pids),
        // One workspace suffices, because publishing has no rate limit.
        reference: heldPublishing(small, few.slice(0, 1), small.pids),
      });
    }
    const [held, least] = [scaled(HELD_EVENTS), 2 * PAGE_EVENTS];
    await measure(`polls with ${held} held events, compared with ${least * HOLDERS}`, held, {
      unit: "polls",
      reference: await pageSide(load, small, least),
      ours: await pageSide(load, large, Math.max(Math.ceil(held / HOLDERS), least)),
    });

    const ratios = measured.map((each) => each.pairs.map(({ ratio }) => ratio));
    const medians = ratios.map(median);
    for (const [i, { what }] of measured.entries()) say(`${(medians[i] ?? NaN).toFixed(3)}  ${what}`);
    const figure = Math.min(...medians);
    const memoryMs = measured.flatMap((each) => memoryTimesOf(each.pairs));
    return { figure, lastLine: spreadLine("ratio", figure, ratios.flat()), memoryMs, raw: { measured } };
  },
};

/** Creates a side that polls full pages. Each cursor is in the middle of the held events of its workspace. */
async function pageSide(http: HttpLoad, service: Service, each: number): Promise<Side> {
  const { clients, url, pids } = service;
  const workspaces = await createWorkspaces(clients, HOLDERS);
  const held = { before: Math.floor(each / 2), after: Math.ceil(each / 2), expected: PAGE_EVENTS };
  const { load } = await createPolls(http, service, workspaces, held);
  return { pids, ...load(url) };
}
