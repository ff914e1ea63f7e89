import { createWorkspaces } from "../core-clients";
import { createPosts, postAndCount } from "../load/posts";
import { assertWrk } from "../load/wrk";
import type { Part } from "../part";
import { alternate, resultOf } from "../rounds";
import { startService } from "../service";
import { WORKSPACES } from "./http-sides";

/** What lanes are worth: the same edge and the same core, with every call on its own. */
export const unary: Part = {
  name: "unary",
  what: "the same POSTs over lanes, against one gRPC call for each",
  async run(context) {
    await assertWrk();
    const { clients, store, url, cpuTimes, startEdge } = await startService(context);
    const unaryUrl = await startEdge({ CORE_CALLS: "unary" });
    const workspaces = await createWorkspaces(clients, WORKSPACES);
    // Both store, so each needs requests of its own.
    const [ours, theirs] = [
      createPosts(context, workspaces, "lanes"),
      createPosts(context, workspaces, "unary"),
    ];
    const rounds = await alternate(context, {
      unit: "requests",
      cpuTimes,
      names: { ours: "lanes", reference: "unary" },
      async prepare() {
        await ours.prepare();
        await theirs.prepare();
      },
      ours: (seconds) => postAndCount(ours, store, url, seconds),
      reference: (seconds) => postAndCount(theirs, store, unaryUrl, seconds),
    });
    return resultOf(rounds);
  },
};
