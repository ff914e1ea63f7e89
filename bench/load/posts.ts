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

/** A load of signed POSTs, no two of them alike. */
export interface Posts {
  /** Signs new requests, enough for one run of each side. */
  prepare(): Promise<void>;
  /** Sends them. Throws CheckFault unless each is answered with a 2xx. */
  run(url: string, seconds: number): Promise<Measure>;
}

/** Requests a second to sign for the warm-up, when the rate is still unknown. */
const FIRST_PER_SECOND = 40_000;
/** Factor on the fastest rate so far, and minimum, of the requests a second to sign for later runs. */
const SPARE = 2;
const LEAST_PER_SECOND = 20_000;

/** @param workspaces receive the requests in turn */
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
      check(isWarmUp || ranOut === 0, "there were too few signed requests for the whole run");
      fastest = Math.max(fastest, (count * 1000) / (toMs - fromMs));
      return { count, fromMs, toMs, p50Ms, p99Ms };
    },
  };
}

/** POSTs to the service. After each run the stored events are compared with the answers, and removed. */
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
