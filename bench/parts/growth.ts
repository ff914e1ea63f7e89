import { createWorkspaces, type Workspace } from "../core-clients";
import { createPolls } from "../load/polls";
import { createPosts, storedPosts } from "../load/posts";
import { heldPublishing, publishSome } from "../load/publishing";
import { assertWrk } from "../load/wrk";
import type { Part, PartContext } from "../part";
import { alternate, spreadLine, type Contest, type Round, type Side } from "../rounds";
import { startService, type Service } from "../service";
import { median } from "../statistics";
import { PAGE_EVENTS, WORKSPACES } from "./http";

const SIZES = [1_000, 10_000, 100_000];
const HELD_EVENTS = 1_000_000;
/**
 * Number of workspaces that share `HELD_EVENTS`. Each workspace may be polled 250 times per second, so all 64 together
 * may be polled 16,000 times per second.
 */
const HOLDERS = 64;
const NAMES = { ours: "many", reference: "few" };

/** Compares the speed of a growing service, at each size, with the speed of a second service that stays small. */
export const growth: Part = {
  name: "growth",
  what: "POSTs, publishing and pages with many workspaces and many held events, compared with few",
  async run(context) {
    assertWrk();
    const { options, say } = context;
    const scaled = (size: number): number => Math.max(WORKSPACES, Math.round(size * options.scale));
    const [small, large] = [await startService(context), await startService(context)];
    const few = await createWorkspaces(small.clients, WORKSPACES);
    const many: Workspace[] = [];
    const measured: { readonly what: string; readonly size: number; readonly rounds: readonly Round[] }[] =
      [];
    const measure = async (what: string, size: number, contest: Omit<Contest, "names">): Promise<void> => {
      say(`${what}:`);
      measured.push({ what, size, rounds: await alternate(context, { ...contest, names: NAMES }) });
    };

    for (const size of SIZES.map(scaled)) {
      const added = await createWorkspaces(large.clients, size - many.length);
      // The first event of a workspace creates the workspace's stream of held events. Creating a stream takes the same
      // time at any size, so these events are published before the measurement.
      await publishSome(large.clients, added, added.length);
      await large.store.emptyHeld();
      many.push(...added);
      const [toMany, toFew] = [createPosts(context, many, "many"), createPosts(context, few, "few")];
      await measure(`POSTs to ${size} workspaces, compared with ${few.length}`, size, {
        unit: "requests",
        async prepare() {
          await toMany.prepare();
          await toFew.prepare();
        },
        ours: storedPosts(toMany, large),
        reference: storedPosts(toFew, small),
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
      reference: await pageSide(context, small, least),
      ours: await pageSide(context, large, Math.max(Math.ceil(held / HOLDERS), least)),
    });

    const medians = measured.map(({ rounds }) => median(rounds.map(({ ratio }) => ratio)));
    for (const [i, { what }] of measured.entries()) say(`${(medians[i] ?? NaN).toFixed(3)}  ${what}`);
    const all = measured.flatMap(({ rounds }) => rounds.map(({ ratio }) => ratio));
    return { lastLine: spreadLine("ratio", Math.min(...medians), all), raw: { measured } };
  },
};

/** Creates a side that polls full pages. Each cursor is in the middle of the held events of its workspace. */
async function pageSide(context: PartContext, service: Service, each: number): Promise<Side> {
  const { clients, url, pids } = service;
  const workspaces = await createWorkspaces(clients, HOLDERS);
  const held = { before: Math.floor(each / 2), after: Math.ceil(each / 2), expected: PAGE_EVENTS };
  const polls = await createPolls(context, service, workspaces, held);
  return { pids, run: (seconds) => polls.run(url, seconds) };
}
