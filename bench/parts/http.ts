import { createWorkspaces } from "../core-clients";
import { createPolls } from "../load/polls";
import { createPosts, storedPosts } from "../load/posts";
import { assertWrk } from "../load/wrk";
import { check, type Part, type PartContext } from "../part";
import { alternate, resultOf } from "../rounds";
import { startService } from "../service";
import { startWorker } from "../worker";
import type { ReferenceServer } from "../workers/reference-server";

/** Number of workspaces that receive HTTP load in turn. Each accepts 250 requests per second: 64,000 in total. */
export const WORKSPACES = 256;

/** Compares the service, which stores signed POSTs, with one process that only checks and answers them. */
export const inbound: Part = {
  name: "inbound",
  what: "signed POSTs accepted and stored, compared with one process that stores nothing",
  async run(context) {
    const { service, workspaces, referenceUrl, referencePids } = await startHttpSides(context);
    const posts = createPosts(context, workspaces);
    const rounds = await alternate(context, {
      unit: "requests",
      prepare: () => posts.prepare(),
      ours: storedPosts(posts, service),
      reference: { pids: referencePids, run: (seconds) => posts.run(referenceUrl, seconds) },
    });
    return resultOf(rounds);
  },
};

/** Maximum number of events in a page. */
export const PAGE_EVENTS = 100;
/** Number of events in a page for a bridge that keeps up with a game. */
const FEW_EVENTS = 3;
/** Number of events before each bridge's cursor. */
const FETCHED_EVENTS = 10;

const SAME_BYTES = "compared with one process that signs a constant copy of the page";

/** Polls that return no events, like most polls of a bridge. */
export const pollEmpty: Part = pollPart(
  "poll-empty",
  "signed polls with nothing new, compared with one process that signs a constant page",
  { before: 1, after: 0 },
);

/** Polls that return a few events, as for a bridge that keeps up. */
export const pollFew: Part = pollPart("poll-few", `signed polls of ${FEW_EVENTS} events, ${SAME_BYTES}`, {
  before: FETCHED_EVENTS,
  after: FEW_EVENTS,
});

/** Polls that return full pages, as for a bridge that catches up. */
export const pollPage: Part = pollPart("poll-page", `signed polls of ${PAGE_EVENTS} events, ${SAME_BYTES}`, {
  before: FETCHED_EVENTS,
  after: PAGE_EVENTS,
});

/**
 * Compares polls with a reference that sends a constant page. `before` events precede the cursor, and `after` events
 * follow it.
 */
function pollPart(
  name: string,
  what: string,
  held: { readonly before: number; readonly after: number },
): Part {
  return {
    name,
    what,
    async run(context) {
      const { service, workspaces, reference, referenceUrl, referencePids } = await startHttpSides(context);
      const { page, look, run } = await createPolls(context, service, workspaces, held);
      const isEmpty = held.after === 0;
      if (!isEmpty) context.say(`a page of ${held.after} events has ${page.length} bytes`);
      await reference.call("setPage", page);
      const rounds = await alternate(context, {
        unit: "polls",
        ours: { pids: service.pids, run: (seconds) => run(service.url, seconds) },
        reference: { pids: referencePids, run: (seconds) => run(referenceUrl, seconds) },
      });
      check((await look()).equals(page), "the pages have changed although nothing was published");
      await service.store.assertHeld(workspaces.length * (held.before + held.after));
      return resultOf(rounds, isEmpty ? {} : { pageBytes: page.length });
    },
  };
}

/** Starts the service and the reference server, with the same workspaces. */
async function startHttpSides(context: PartContext) {
  assertWrk();
  const service = await startService(context);
  const workspaces = await createWorkspaces(service.clients, WORKSPACES);
  const reference = await startWorker<ReferenceServer>(context.scope, "reference-server");
  const port = await reference.call("start", { workspaces });
  const referencePids = { reference: reference.pid };
  return { service, workspaces, reference, referenceUrl: `http://127.0.0.1:${port}`, referencePids };
}
