import { createWorkspaces, type Workspace } from "../core-clients";
import { startHttpLoad, type HttpLoad, type Load } from "../load/http-load";
import { createPolls } from "../load/polls";
import { check, type Part, type PartContext } from "../part";
import { startService, type Service } from "../service";
import { alternate, resultOf, type Side } from "../slices";
import { startReference } from "../worker";
import type { ReferenceServer } from "../workers/reference-server";

/**
 * Number of workspaces that receive HTTP load in turn. Each workspace accepts 250 requests per second, so together they
 * accept 64,000.
 */
export const WORKSPACES = 256;

/** Compares the service, which stores signed POSTs, with one process that only checks and answers signed POSTs. */
export const inbound: Part = {
  name: "inbound",
  what: "signed POSTs accepted and stored, compared with one process that stores nothing",
  comparesBuilds: true,
  async run(context) {
    const load = await startHttpLoad(context.scope);
    const startSide = async (build?: string) => {
      const service = await startService(context, {}, build);
      const workspaces = await createWorkspaces(service.clients, WORKSPACES);
      const posts = await load.posts(workspaces);
      return { workspaces, posts, side: storedPosts(posts, service) };
    };
    const { workspaces, posts, side } = await startSide();
    const { against } = context.options;
    const comparison = await alternate(context, {
      unit: "requests",
      ours: side,
      reference:
        against === undefined
          ? (await startReferenceServer(context, workspaces)).side(posts)
          : (await startSide(against)).side,
    });
    return resultOf(comparison);
  },
};

/**
 * Creates a side that POSTs to the service. `settle` compares the number of stored events with the number of answers,
 * and removes the events.
 */
export function storedPosts(posts: Load, { url, store, pids }: Service): Side {
  return { pids, ...posts(url), settle: ({ count }) => store.settleInbound(count) };
}

/** Maximum number of events in a page. */
export const PAGE_EVENTS = 100;
/** Number of events in a page for a bridge that keeps up with a game. */
const FEW_EVENTS = 3;
/** Number of events before each bridge's cursor. */
const FETCHED_EVENTS = 10;

const SAME_BYTES = "compared with one process that signs a constant copy of the page";

/** Measures polls that return no events, like most polls of a bridge. */
export const pollEmpty: Part = pollPart(
  "poll-empty",
  "signed polls with nothing new, compared with one process that signs a constant page",
  { before: 1, after: 0 },
);

/** Measures polls that return a few events, as for a bridge that keeps up. */
export const pollFew: Part = pollPart("poll-few", `signed polls of ${FEW_EVENTS} events, ${SAME_BYTES}`, {
  before: FETCHED_EVENTS,
  after: FEW_EVENTS,
});

/** Measures polls that return full pages, as for a bridge that catches up. */
export const pollPage: Part = pollPart("poll-page", `signed polls of ${PAGE_EVENTS} events, ${SAME_BYTES}`, {
  before: FETCHED_EVENTS,
  after: PAGE_EVENTS,
});

/** Numbers of events before and after each bridge's cursor. */
interface Held {
  readonly before: number;
  readonly after: number;
}

/** Compares polls with a reference that sends a constant page. */
function pollPart(name: string, what: string, held: Held): Part {
  return {
    name,
    what,
    comparesBuilds: true,
    async run(context) {
      const load = await startHttpLoad(context.scope);
      const { against } = context.options;
      const ours = await startPolled(context, load, held);
      const { page } = ours;
      const isEmpty = held.after === 0;
      if (!isEmpty) context.say(`a page of ${held.after} events has ${page.length} bytes`);
      const theirs = against === undefined ? undefined : await startPolled(context, load, held, against);
      const startConstant = async (): Promise<Side> => {
        const reference = await startReferenceServer(context, ours.workspaces);
        await reference.setPage(page);
        return reference.side(ours.load);
      };
      const comparison = await alternate(context, {
        unit: "polls",
        ours: ours.side,
        reference: theirs?.side ?? (await startConstant()),
      });
      await ours.assertUnchanged();
      await theirs?.assertUnchanged();
      return resultOf(comparison, isEmpty ? {} : { pageBytes: page.length });
    },
  };
}

/** Starts a service with held events, and creates a side that polls its workspaces. */
async function startPolled(context: PartContext, http: HttpLoad, held: Held, build?: string) {
  const service = await startService(context, {}, build);
  const workspaces: readonly Workspace[] = await createWorkspaces(service.clients, WORKSPACES);
  const { page, look, load } = await createPolls(http, service, workspaces, held);
  const side: Side = { pids: service.pids, ...load(service.url) };
  return {
    workspaces,
    page,
    load,
    side,
    async assertUnchanged() {
      check((await look()).equals(page), "the pages have changed although nothing was published");
      await service.store.assertHeld(workspaces.length * (held.before + held.after));
    },
  };
}

/** Starts the reference server, with the workspaces of the service. */
export async function startReferenceServer(context: PartContext, workspaces: readonly Workspace[]) {
  const server = await startReference<ReferenceServer>(context, "reference-server");
  const port = await server.call("start", { workspaces });
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    setPage: (page: Buffer) => server.call("setPage", page),
    side: (load: Load): Side => ({ pids: { reference: server.pid }, ...load(origin) }),
  };
}
