import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { inTurn, type Workspace } from "../core-clients";
import { check, type PartContext } from "../part";
import type { Measure, Side } from "../rounds";
import { typedMessage } from "../sample-events";
import type { Service } from "../service";
import { nowSeconds, signedPost, writeRequests, type RequestFile } from "./signed-requests";
import { runWrk } from "./wrk";

/** A load of signed POSTs, no two of them alike. */
export type Posts = ReturnType<typeof createPosts>;

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
) {
  const run = randomBytes(4).toString("hex");
  const path = join(scope.folder, `${name}.requests`);
  let file: RequestFile | undefined;
  let made = 0;
  let fastest = 0;

  return {
    /** Signs new requests, enough for one run of each side. */
    async prepare(): Promise<void> {
      const perSecond = fastest === 0 ? FIRST_PER_SECOND : Math.max(LEAST_PER_SECOND, fastest * SPARE);
      const seconds = fastest === 0 ? Math.min(2, options.seconds) : options.seconds;
      const t = nowSeconds();
      file = writeRequests(path, Math.ceil(perSecond * seconds), () =>
        signedPost(inTurn(workspaces, ++made), JSON.stringify(typedMessage(run, made)), t),
      );
    },
    /** Sends them. Throws CheckFault unless each is answered with a 2xx. */
    async run(url: string, seconds: number): Promise<Measure> {
      if (file === undefined) throw new Error("no requests are prepared");
      const { sent: count, ranOut, times } = await runWrk(scope, url, file, "once", seconds);
      const isWarmUp = fastest === 0 || seconds < options.seconds;
      check(isWarmUp || ranOut === 0, "there were too few signed requests for the whole run");
      fastest = Math.max(fastest, (count * 1000) / (times.toMs - times.fromMs));
      return { count, ...times };
    },
  };
}

/** POSTs to the service. After each run the stored events are compared with the answers, and removed. */
export function storedPosts(posts: Posts, { url, store, pids }: Service): Side {
  return {
    pids,
    run: (seconds) => posts.run(url, seconds),
    settle: ({ count }) => store.settleInbound(count),
  };
}
