import { createPolls, cursorsNow, poll } from "../load/polls";
import { publishSome } from "../load/publishing";
import { check, type Part, type PartContext, type PartResult } from "../part";
import { alternate, resultOf } from "../rounds";
import { startHttpSides } from "./http-sides";

/** Maximum number of events of a page. */
export const PAGE_EVENTS = 100;
/** Events that a bridge finds that keeps up with a game. */
const FEW_EVENTS = 3;
/** Held events of a workspace that its bridge has already fetched. */
const FETCHED_EVENTS = 10;

/** Polls of full pages: a bridge that catches up. */
export const pollPage: Part = {
  name: "poll-page",
  what: `signed polls of ${PAGE_EVENTS} events, against one process that signs and sends the same bytes`,
  run: (context) => comparePages(context, PAGE_EVENTS),
};

/** Polls of a few events: a bridge that keeps up. */
export const pollFew: Part = {
  name: "poll-few",
  what: `signed polls of ${FEW_EVENTS} events, against one process that signs and sends the same bytes`,
  run: (context) => comparePages(context, FEW_EVENTS),
};

/** Compares polls after a cursor with `eventCount` events behind it. */
async function comparePages(context: PartContext, eventCount: number): Promise<PartResult> {
  const { service, workspaces, reference, referenceUrl, referencePids } = await startHttpSides(context);
  await publishSome(service.clients, workspaces, workspaces.length * FETCHED_EVENTS);
  const cursors = await cursorsNow(service.url, workspaces);
  await publishSome(service.clients, workspaces, workspaces.length * eventCount);
  const queryOf = ({ id }: { readonly id: string }): string => `after=${cursors.get(id)}`;
  const lookAtPages = async (): Promise<Buffer> => {
    let page: Buffer = Buffer.alloc(0);
    for (const workspace of workspaces) {
      const { body, events } = await poll(service.url, workspace, queryOf(workspace));
      check(events.length === eventCount, `a page has ${events.length} events instead of ${eventCount}`);
      page = body;
    }
    return page;
  };
  const page = await lookAtPages();
  context.say(`a page of ${eventCount} events has ${page.length} bytes`);
  await reference.call("setPage", page);
  const polls = createPolls(context, workspaces, queryOf, page.length);
  const rounds = await alternate(context, {
    unit: "polls",
    ours: { pids: service.pids, run: (seconds) => polls.run(service.url, seconds) },
    reference: { pids: referencePids, run: (seconds) => polls.run(referenceUrl, seconds) },
  });
  check((await lookAtPages()).equals(page), "the pages have changed although nothing was published");
  await service.store.assertHeld(workspaces.length * (FETCHED_EVENTS + eventCount));
  return resultOf(rounds, { pageBytes: page.length });
}
