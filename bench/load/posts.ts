import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { inTurn, type Workspace } from "../core-clients";
import { check, type PartContext } from "../part";
import type { Measure, Side } from "../rounds";
import { typedMessage } from "../sample-events";
import type { Service } from "../service";
import { nowSeconds, signedPost, writeRequests, type RequestFile } from "./signed-requests";
import { runWrk } from "./wrk";

/** A load of signed POSTs, all different. */
export type Posts = ReturnType<typeof createPosts>;

/** Number of requests signed for each second of the warm-up, when the rate is still unknown. */
const FIRST_PER_SECOND = 40_000;
/** Number of requests signed for each second of a later run, as a multiple of the fastest rate so far. */
const SPARE = 2;
/** Minimum number of requests signed for each second of a later run. */
const LEAST_PER_SECOND = 20_000;

/** @param workspaces the workspaces that receive the requests in turn */
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
    /** Signs new requests. Every run until the next call of `prepare` sends these requests. */
    async prepare(): Promise<void> {
      const perSecond = fastest === 0 ? FIRST_PER_SECOND : Math.max(LEAST_PER_SECOND, fastest * SPARE);
      const seconds = fastest === 0 ? Math.min(2, options.seconds) : options.seconds;
      const t = nowSeconds();
      file = writeRequests(path, Math.ceil(perSecond * seconds), () =>
        signedPost(inTurn(workspaces, ++made), JSON.stringify(typedMessage(run, made)), t),
      );
    },
    /** Sends the signed requests. Throws CheckFault unless every answer is a 2xx. */
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

/**
 * POSTs to the service. `settle` compares the number of stored events with the number of answers, and removes the
 * events.
 */
export function storedPosts(posts: Posts, { url, store, pids }: Service): Side {
  return {
    pids,
    run: (seconds) => posts.run(url, seconds),
    settle: ({ count }) => store.settleInbound(count),
  };
}
