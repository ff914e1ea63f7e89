import { createPolls, cursorsNow, poll } from "../load/polls";
import { publishSome } from "../load/publishing";
import { check, type Part } from "../part";
import { alternate, resultOf } from "../rounds";
import { startHttpSides } from "./http-sides";

/** Compares polls that find nothing new, as most polls of a bridge do, with one process that signs a constant page. */
export const pollEmpty: Part = {
  name: "poll-empty",
  what: "signed polls with nothing new, against one process that signs a constant page",
  async run(context) {
    const { service, workspaces, reference, referenceUrl, referencePids } = await startHttpSides(context);
    await publishSome(service.clients, workspaces, workspaces.length);
    const cursors = await cursorsNow(service.url, workspaces);
    const queryOf = ({ id }: { readonly id: string }): string => `after=${cursors.get(id)}`;
    let page: Buffer = Buffer.alloc(0);
    for (const workspace of workspaces) {
      const { body, events } = await poll(service.url, workspace, queryOf(workspace));
      check(events.length === 0, "a poll after the newest cursor found events");
      page = body;
    }
    await reference.call("setPage", page);
    const polls = createPolls(context, workspaces, queryOf, page.length);
    const rounds = await alternate(context, {
      unit: "polls",
      ours: { pids: service.pids, run: (seconds) => polls.run(service.url, seconds) },
      reference: { pids: referencePids, run: (seconds) => polls.run(referenceUrl, seconds) },
    });
    return resultOf(rounds);
  },
};
