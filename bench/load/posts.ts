import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Workspace } from "../core-clients";
import { check, type PartContext } from "../part";
import type { Measure } from "../rounds";
import { typedMessage } from "../sample-events";
import { nowSeconds } from "../signature";
import { INBOUND_STREAMS, type Store } from "../store";
import { signedPost, writeRequests, type RequestFile } from "./request-file";
import { runWrk } from "./wrk";

/** Load by signed POSTs, each of them the only one of its kind. */
export interface Posts {
  /** Signs new requests, enough for one run at everything that is measured. */
  prepare(): Promise<void>;
  /** Sends them; throws unless each was answered with a 2xx. Requests a second. */
  run(url: string, seconds: number): Promise<Measure & { readonly sent: number }>;
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
      const { sent, sentSeconds, ranOut, p50Ms, p99Ms } = await runWrk(scope, url, file, "once", seconds);
      const isWarmUp = fastest === 0 || seconds < options.seconds;
      check(isWarmUp || ranOut === 0, "the signed requests did not last for the whole run");
      const perSecond = sent / sentSeconds;
      fastest = Math.max(fastest, perSecond);
      return { perSecond, p50Ms, p99Ms, sent };
    },
  };
}

/** Posts to the service, and compares what is stored afterwards with what was answered. */
export async function postAndCount(
  posts: Posts,
  store: Store,
  url: string,
  seconds: number,
): Promise<Measure> {
  const { sent, ...measure } = await posts.run(url, seconds);
  await store.assertEntries(INBOUND_STREAMS, sent, "events were answered with 202");
  await store.emptyStreams(INBOUND_STREAMS);
  return measure;
}
