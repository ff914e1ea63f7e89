import { createWorkspaces, type Workspace } from "../core-clients";
import { createPolls, poll } from "../load/polls";
import { createPosts, postAndCount } from "../load/posts";
import { publishFor, publishSome } from "../load/publishing";
import { assertWrk } from "../load/wrk";
import { check, type Part, type PartContext } from "../part";
import { alternate, ratioLine, type Contest, type Round } from "../rounds";
import { startService, type Service } from "../service";
import { median } from "../statistics";
import { PAGE_EVENTS } from "./poll-page";

const WORKSPACES = [100, 10_000, 100_000];
const HELD_EVENTS = 1_000_000;

/** One service that stays small and one that grows, measured in turn: what size costs. */
interface Sides {
  readonly small: Service;
  readonly large: Service;
}

/** How speed holds up with size, each size against a second service of the smallest. */
export const growth: Part = {
  name: "growth",
  what: "POSTs, publishing and pages with many workspaces and many held events, against few",
  async run(context) {
    await assertWrk();
    const { options, say } = context;
    const scaled = (size: number): number => Math.max(2, Math.round(size * options.scale));
    const sides = { small: await startService(context), large: await startService(context) };
    const few = await createWorkspaces(sides.small.clients, 1);
    const many: Workspace[] = [];
    const measured: { readonly what: string; readonly size: number; readonly rounds: readonly Round[] }[] =
      [];
    const measure = async (what: string, size: number, contest: Contest): Promise<void> => {
      say(`${what}:`);
      measured.push({ what, size, rounds: await alternate(context, contest) });
    };

    for (const size of WORKSPACES.map(scaled)) {
      many.push(...(await createWorkspaces(sides.large.clients, size - many.length)));
      await measure(`POSTs to ${size} workspaces, against 1`, size, postContest(context, sides, few, many));
      await measure(`publishing to ${size} workspaces, against 1`, size, publishContest(sides, few, many));
    }
    const held = scaled(HELD_EVENTS);
    const contest = await pageContest(context, sides, held);
    await measure(`pages of a workspace that holds ${held} events, against ${PAGE_EVENTS}`, held, contest);

    const medians = measured.map(({ rounds }) => median(rounds.map(({ ratio }) => ratio)));
    for (const [i, { what }] of measured.entries()) say(`${(medians[i] ?? NaN).toFixed(3)}  ${what}`);
    const all = measured.flatMap(({ rounds }) => rounds.map(({ ratio }) => ratio));
    return { lastLine: ratioLine(Math.min(...medians), all), raw: { measured } };
  },
};

const NAMES = { ours: "many", reference: "few" };

function postContest(
  context: PartContext,
  { small, large }: Sides,
  few: readonly Workspace[],
  many: readonly Workspace[],
): Contest {
  const [toMany, toFew] = [createPosts(context, many, "many"), createPosts(context, few, "few")];
  return {
    unit: "requests",
    names: NAMES,
    cpuTimes: large.cpuTimes,
    async prepare() {
      await toMany.prepare();
      await toFew.prepare();
    },
    ours: (seconds) => postAndCount(toMany, large.store, large.url, seconds),
    reference: (seconds) => postAndCount(toFew, small.store, small.url, seconds),
  };
}

function publishContest(
  { small, large }: Sides,
  few: readonly Workspace[],
  many: readonly Workspace[],
): Contest {
  const run = async ({ clients, store }: Service, workspaces: readonly Workspace[], seconds: number) => {
    const { count, ...measure } = await publishFor(clients, workspaces, seconds);
    await store.assertHeld(count);
    await store.removeHeld();
    return measure;
  };
  return {
    unit: "events",
    names: NAMES,
    ours: (seconds) => run(large, many, seconds),
    reference: (seconds) => run(small, few, seconds),
  };
}

/** Pages from the middle of what a workspace holds. */
async function pageContest(context: PartContext, { small, large }: Sides, held: number): Promise<Contest> {
  const fill = async ({ clients, url }: Service, count: number) => {
    const workspaces = await createWorkspaces(clients, 1);
    const [workspace] = workspaces;
    if (workspace === undefined) throw new Error("no workspace was made");
    await publishSome(clients, workspaces, Math.floor(count / 2));
    const { next } = await poll(url, workspace, "after=latest");
    await publishSome(clients, workspaces, Math.ceil(count / 2));
    return { workspaces, workspace, query: `after=${next}` };
  };
  // Half of them are after the cursor.
  const [ofFew, ofMany] = [
    await fill(small, 2 * PAGE_EVENTS),
    await fill(large, Math.max(held, 2 * PAGE_EVENTS)),
  ];
  const page = await poll(small.url, ofFew.workspace, ofFew.query);
  check(page.events.length === PAGE_EVENTS, `a page came with ${page.events.length} events`);
  const pollsOf = ({ workspaces, query }: typeof ofFew) =>
    createPolls(context, workspaces, () => query, page.body.length);
  const [pollsOfMany, pollsOfFew] = [pollsOf(ofMany), pollsOf(ofFew)];
  return {
    unit: "polls",
    names: NAMES,
    cpuTimes: large.cpuTimes,
    ours: (seconds) => pollsOfMany.run(large.url, seconds),
    reference: (seconds) => pollsOfFew.run(small.url, seconds),
  };
}
