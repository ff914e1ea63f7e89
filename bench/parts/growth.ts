import { createWorkspaces, type Workspace } from "../core-clients";
import { createPolls, cursorsNow, poll } from "../load/polls";
import { createPosts, storedPosts } from "../load/posts";
import { heldPublishing, publishSome } from "../load/publishing";
import { assertWrk } from "../load/wrk";
import { check, type Part, type PartContext } from "../part";
import { alternate, spreadLine, type Contest, type Round } from "../rounds";
import { startService, type Service } from "../service";
import { median } from "../statistics";
import { WORKSPACES } from "./http-sides";
import { PAGE_EVENTS } from "./poll-page";

const SIZES = [1_000, 10_000, 100_000];
const HELD_EVENTS = 1_000_000;
/** Workspaces that hold them. Their limits of 250 polls a second (check 6) allow 16,000 a second together. */
const HOLDERS = 64;

/** A service that stays small and one that grows, measured in turn. */
interface Services {
  readonly small: Service;
  readonly large: Service;
}

/** Compares the speed at each size with that of a second service that stays small. */
export const growth: Part = {
  name: "growth",
  what: "POSTs, publishing and pages with many workspaces and many held events, against few",
  async run(context) {
    await assertWrk();
    const { options, say } = context;
    const scaled = (size: number): number => Math.max(WORKSPACES, Math.round(size * options.scale));
    const services = { small: await startService(context), large: await startService(context) };
    const few = await createWorkspaces(services.small.clients, WORKSPACES);
    const many: Workspace[] = [];
    const measured: { readonly what: string; readonly size: number; readonly rounds: readonly Round[] }[] =
      [];
    const measure = async (what: string, size: number, contest: Contest): Promise<void> => {
      say(`${what}:`);
      measured.push({ what, size, rounds: await alternate(context, contest) });
    };

    for (const size of SIZES.map(scaled)) {
      const added = await createWorkspaces(services.large.clients, size - many.length);
      // A workspace's first event creates its stream, which costs the same at any size, so it is not measured.
      await publishSome(services.large.clients, added, added.length);
      await services.large.store.emptyHeld();
      many.push(...added);
      const posts = postContest(context, services, few, many);
      await measure(`POSTs to ${size} workspaces, against ${few.length}`, size, posts);
      // One workspace suffices, because no limit bounds publishing to it.
      const publishing = publishContest(services, few.slice(0, 1), many);
      await measure(`publishing to ${size} workspaces, against 1`, size, publishing);
    }
    const held = scaled(HELD_EVENTS);
    const pages = await pageContest(context, services, held);
    await measure(`pages where ${held} events are held, against ${2 * PAGE_EVENTS * HOLDERS}`, held, pages);

    const medians = measured.map(({ rounds }) => median(rounds.map(({ ratio }) => ratio)));
    for (const [i, { what }] of measured.entries()) say(`${(medians[i] ?? NaN).toFixed(3)}  ${what}`);
    const all = measured.flatMap(({ rounds }) => rounds.map(({ ratio }) => ratio));
    return { lastLine: spreadLine("ratio", Math.min(...medians), all), raw: { measured } };
  },
};

const NAMES = { ours: "many", reference: "few" };

function postContest(
  context: PartContext,
  { small, large }: Services,
  few: readonly Workspace[],
  many: readonly Workspace[],
): Contest {
  const [toMany, toFew] = [createPosts(context, many, "many"), createPosts(context, few, "few")];
  return {
    unit: "requests",
    names: NAMES,
    async prepare() {
      await toMany.prepare();
      await toFew.prepare();
    },
    ours: storedPosts(toMany, large),
    reference: storedPosts(toFew, small),
  };
}

function publishContest(
  { small, large }: Services,
  few: readonly Workspace[],
  many: readonly Workspace[],
): Contest {
  return {
    unit: "events",
    names: NAMES,
    ours: heldPublishing(large, many, large.pids),
    reference: heldPublishing(small, few, small.pids),
  };
}

/** Compares polls after a cursor in the middle of the held events. */
async function pageContest(context: PartContext, { small, large }: Services, held: number): Promise<Contest> {
  const fill = async ({ clients, url, pids }: Service, each: number) => {
    const workspaces = await createWorkspaces(clients, HOLDERS);
    await publishSome(clients, workspaces, HOLDERS * Math.floor(each / 2));
    const cursors = await cursorsNow(url, workspaces);
    // The second half is after the cursor.
    await publishSome(clients, workspaces, HOLDERS * Math.ceil(each / 2));
    const queryOf = ({ id }: Workspace): string => `after=${cursors.get(id)}`;
    let pageBytes = 0;
    for (const workspace of workspaces) {
      const { events, body } = await poll(url, workspace, queryOf(workspace));
      check(events.length === PAGE_EVENTS, `a page has ${events.length} events instead of ${PAGE_EVENTS}`);
      pageBytes = body.length;
    }
    const polls = createPolls(context, workspaces, queryOf, pageBytes);
    return { pids, run: (seconds: number) => polls.run(url, seconds) };
  };
  const least = 2 * PAGE_EVENTS;
  return {
    unit: "polls",
    names: NAMES,
    reference: await fill(small, least),
    ours: await fill(large, Math.max(Math.ceil(held / HOLDERS), least)),
  };
}
