import { createHmac } from "node:crypto";
import { join } from "node:path";
import { request } from "undici";
import type { Workspace } from "../core-clients";
import { check, type PartContext } from "../part";
import type { Measure } from "../rounds";
import { signatureOf } from "../signature";
import { signedPoll, writeRequests } from "./request-file";
import { runWrk } from "./wrk";

/** The page of a poll. */
export interface Page {
  readonly body: Buffer;
  readonly events: readonly object[];
  readonly next: string | null;
}

const HEADERS_MAX_BYTES = 1_000;

/** Polls once. Throws CheckFault unless the answer is a page with a valid signature. */
export async function poll(url: string, { id, secret, address }: Workspace, query: string): Promise<Page> {
  const answer = await request(`${url}/hooks/${id}/events?${query}`, {
    headers: { "Service-Signature": signatureOf(secret, query), "X-Forwarded-For": address },
  });
  const body = Buffer.from(await answer.body.arrayBuffer());
  check(answer.statusCode === 200, `a poll was answered ${answer.statusCode}: ${body.toString("utf8")}`);
  const signature = String(answer.headers["service-signature"]);
  const t = /^t=(\d+)/.exec(signature)?.[1] ?? "";
  const digest = createHmac("sha256", secret).update(`${t}.`).update(body).digest("hex");
  check(signature === `t=${t},v1=${digest}`, "a page has an invalid signature");
  return { body, ...(JSON.parse(body.toString("utf8")) as Omit<Page, "body">) };
}

/** Returns the newest cursor of each workspace, by its id. */
export async function cursorsNow(
  url: string,
  workspaces: readonly Workspace[],
): Promise<ReadonlyMap<string, string>> {
  const cursors = new Map<string, string>();
  for (const workspace of workspaces) {
    const { next } = await poll(url, workspace, "after=latest");
    cursors.set(workspace.id, next ?? "");
  }
  return cursors;
}

/** A load of signed polls: one request per workspace, repeated in turn. */
export interface Polls {
  /** Throws CheckFault unless the mean size of the answers fits pages of `pageBytes`. */
  run(url: string, seconds: number): Promise<Measure>;
}

/** @param queryOf returns the query string of a workspace's poll */
export function createPolls(
  { scope }: PartContext,
  workspaces: readonly Workspace[],
  queryOf: (workspace: Workspace) => string,
  pageBytes: number,
): Polls {
  const path = join(scope.folder, "polls.requests");
  return {
    async run(url, seconds) {
      const file = writeRequests(path, workspaces.length, (number) => {
        const workspace = workspaces[number];
        if (workspace === undefined) throw new Error("there are no workspaces");
        return signedPoll(workspace, queryOf(workspace));
      });
      const result = await runWrk(scope, url, file, "cycle", seconds);
      const bytes = result.bytes / result.requests;
      // wrk counts the bytes of answers that it had not read completely when it stopped, but not their requests.
      const fits = bytes > pageBytes && bytes < pageBytes * 1.02 + HEADERS_MAX_BYTES;
      check(fits, `answers have ${bytes.toFixed(0)} bytes on average, but a page has ${pageBytes}`);
      const { requests: count, fromMs, toMs, p50Ms, p99Ms } = result;
      return { count, fromMs, toMs, p50Ms, p99Ms };
    },
  };
}
