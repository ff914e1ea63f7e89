import { createPosts, storedPosts } from "../load/posts";
import type { Part } from "../part";
import { alternate, resultOf } from "../rounds";
import { startHttpSides } from "./http-sides";

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
