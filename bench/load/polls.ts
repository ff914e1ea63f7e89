import { join } from "node:path";
import { request } from "undici";
import type { Workspace } from "../core-clients";
import { check, type PartContext } from "../part";
import type { Measure } from "../rounds";
import type { Service } from "../service";
import { publishSome } from "./publishing";
import { signatureOf, signedPoll, writeRequests } from "./signed-requests";
import { runWrk } from "./wrk";

/** The answer to one poll, with its unparsed body. */
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
  check(answer.statusCode === 200, `a poll was answered with ${answer.statusCode}: ${body.toString("utf8")}`);
  const signature = String(answer.headers["service-signature"]);
  const t = Number(/^t=(\d+)/.exec(signature)?.[1]);
  check(signature === signatureOf(secret, body, t), "a page has an invalid signature");
  return { body, ...(JSON.parse(body.toString("utf8")) as Omit<Page, "body">) };
}

/**
 * Publishes `before` events to each workspace, gets the workspace's cursor with a poll, and publishes `after` more
 * events. Returns functions that send signed polls from these cursors. Each poll returns `expected` events. The
 * cursors never move, so the page of a workspace never changes.
 */
export async function createPolls(
  { scope }: PartContext,
  { clients, url }: Service,
  workspaces: readonly Workspace[],
  { before, after, expected = after }: { readonly before: number; readonly after: number; expected?: number },
) {
  const path = join(scope.folder, "polls.requests");
  const queries = new Map<string, string>();
  const queryOf = ({ id }: Workspace): string => queries.get(id) ?? "";

  /** Polls each workspace once and returns the last page. Throws CheckFault unless each page has `expected` events. */
  async function look(): Promise<Buffer> {
    let last: Buffer = Buffer.alloc(0);
    for (const workspace of workspaces) {
      const { body, events } = await poll(url, workspace, queryOf(workspace));
      check(events.length === expected, `a page has ${events.length} events instead of ${expected}`);
      last = body;
    }
    return last;
  }

  await publishSome(clients, workspaces, workspaces.length * before);
  for (const workspace of workspaces) {
    const { next } = await poll(url, workspace, "after=latest");
    queries.set(workspace.id, `after=${next}`);
  }
  await publishSome(clients, workspaces, workspaces.length * after);
  const page = await look();
  return {
    page,
    look,
    /**
     * Polls the workspaces in turn. Throws CheckFault if the mean size of the answers does not match the size of a page
     * with its headers.
     */
    async run(url: string, seconds: number): Promise<Measure> {
      const requests = workspaces.map((workspace) => signedPoll(workspace, queryOf(workspace)));
      const file = writeRequests(path, requests.length, (number) => requests[number] ?? "");
      const { bytes, requests: count, times } = await runWrk(scope, url, file, "cycle", seconds);
      const [mean, pageBytes] = [bytes / count, page.length];
      // When wrk stops, it has counted the bytes of partly read answers, but not the answers themselves.
      const fits = mean > pageBytes && mean < pageBytes * 1.02 + HEADERS_MAX_BYTES;
      check(fits, `answers have ${mean.toFixed(0)} bytes on average, but a page has ${pageBytes}`);
      return { count, ...times };
    },
  };
}
