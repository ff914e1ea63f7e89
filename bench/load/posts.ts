import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Workspace } from "../core-clients";
import { check, type PartContext } from "../part";
import type { Measure, Side } from "../rounds";
import { typedMessage } from "../sample-events";
import type { Service } from "../service";
import { nowSeconds } from "../signature";
import { INBOUND_STREAMS } from "../store";
import { signedPost, writeRequests, type RequestFile } from "./request-file";
import { runWrk } from "./wrk";

/** Load by signed POSTs, each of them the only one of its kind. */
export interface Posts {
  /** Signs new requests, enough for one run at everything that is measured. */
  prepare(): Promise<void>;
  /** Sends them; throws unless each was answered with a 2xx. */
  run(url: string, seconds: number): Promise<Measure>;
}

/** For the first run, when it is not known how fast things are. */
const FIRST_PER_SECOND = 40_000;
/** How much faster a run may be than the fastest one before, and what it may always be. */
const SPARE = 2;
const LEAST_PER_SECOND = 20_000;

/** @param workspaces that the requests are for, in turn */
export function createPosts(
  { scope, options }: PartContext,
  workspaces: readonly Workspace[],
  name = "posts",
): Posts {
  const run = randomBytes(4).toString("hex");
  const path = join(scope.folder, `${name}.requests`);
  let file: RequestFile | undefined;
  let made = 0;
  let fastest = 0;

  return {
    async prepare() {
      const perSecond = fastest === 0 ? FIRST_PER_SECOND : Math.max(LEAST_PER_SECOND, fastest * SPARE);
      const seconds = fastest === 0 ? Math.min(2, options.seconds) : options.seconds;
      const t = nowSeconds();
      file = writeRequests(path, Math.ceil(perSecond * seconds), () => {
        const number = ++made;
        const workspace = workspaces[number % workspaces.length];
        if (workspace === undefined) throw new Error("there are no workspaces");
        return signedPost(workspace, typedMessage(run, number), t);
      });
    },
    async run(url, seconds) {
      if (file === undefined) throw new Error("no requests are prepared");
      const result = await runWrk(scope, url, file, "once", seconds);
      const { sent: count, fromMs, toMs, ranOut, p50Ms, p99Ms } = result;
      const isWarmUp = fastest === 0 || seconds < options.seconds;
      check(isWarmUp || ranOut === 0, "the signed requests did not last for the whole run");
      fastest = Math.max(fastest, (count * 1000) / (toMs - fromMs));
      return { count, fromMs, toMs, p50Ms, p99Ms };
    },
  };
}

/** Posts to the service, where what is stored afterwards is compared with what was answered. */
export function storedPosts(posts: Posts, { url, store, pids }: Service): Side {
  return {
    pids,
    run: (seconds) => posts.run(url, seconds),
    async settle({ count }) {
      await store.assertEntries(INBOUND_STREAMS, count, "events were answered with 202");
      await store.emptyStreams(INBOUND_STREAMS);
    },
  };
}
