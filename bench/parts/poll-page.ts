import { createPolls, poll } from "../load/polls";
import { publishSome } from "../load/publishing";
import { check, type Part } from "../part";
import { alternate, resultOf } from "../rounds";
import { startHttpSides } from "./http-sides";

export const PAGE_EVENTS = 100;

/** Polls of full pages: a bridge that catches up. */
export const pollPage: Part = {
  name: "poll-page",
  what: "signed polls of 100 events, against one process that signs and sends the same bytes",
  async run(context) {
    const { service, workspaces, reference, referenceUrl, referencePids } = await startHttpSides(context);
    await publishSome(service.clients, workspaces, workspaces.length * PAGE_EVENTS);
    const query = `limit=${PAGE_EVENTS}`;
    const lookAtPages = async (): Promise<Buffer> => {
      let page: Buffer = Buffer.alloc(0);
      for (const workspace of workspaces) {
        const { body, events } = await poll(service.url, workspace, query);
        check(events.length === PAGE_EVENTS, `a page of ${PAGE_EVENTS} events came with ${events.length}`);
        page = body;
      }
      return page;
    };
    const page = await lookAtPages();
    context.say(`a page of ${PAGE_EVENTS} events has ${page.length} bytes`);
    await reference.call("setPage", page);
    const polls = createPolls(context, workspaces, () => query, page.length);
    const rounds = await alternate(context, {
      unit: "polls",
      ours: { pids: service.pids, run: (seconds) => polls.run(service.url, seconds) },
      reference: { pids: referencePids, run: (seconds) => polls.run(referenceUrl, seconds) },
    });
    check((await lookAtPages()).equals(page), "the pages have changed although nothing was published");
    await service.store.assertHeld(workspaces.length * PAGE_EVENTS);
    return resultOf(rounds, { pageBytes: page.length });
  },
};
