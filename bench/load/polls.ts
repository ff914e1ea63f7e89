import { request } from "undici";
import type { Workspace } from "../core-clients";
import { check } from "../part";
import type { Service } from "../service";
import type { HttpLoad } from "./http-load";
import { publishSome } from "./publishing";
import { signatureOf } from "./signed-requests";

/** The answer to one poll, with the unparsed body. */
export interface Page {
  readonly body: Buffer;
  readonly events: readonly object[];
  readonly next: string | null;
}

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
 * events. Returns a load of signed polls from these cursors. Each poll returns `expected` events. The cursors never
 * move, so the page of a workspace never changes.
 */
export async function createPolls(
  load: HttpLoad,
  { clients, url }: Service,
  workspaces: readonly Workspace[],
  { before, after, expected = after }: { readonly before: number; readonly after: number; expected?: number },
) {
  const queries = new Map<string, string>();
  const queryOf = ({ id }: Workspace): string => queries.get(id) ?? "";

  /**
   * Polls each workspace once and returns the last page. Throws CheckFault unless each page has `expected` events, and
   * all pages have the same length.
   */
  async function look(): Promise<Buffer> {
    let last: Buffer | undefined;
    for (const workspace of workspaces) {
      const { body, events } = await poll(url, workspace, queryOf(workspace));
      check(events.length === expected, `a page has ${events.length} events instead of ${expected}`);
      check(body.length === (last ?? body).length, "two pages have different lengths");
      last = body;
    }
    return last ?? Buffer.alloc(0);
  }

  await publishSome(clients, workspaces, workspaces.length * before);
  for (const workspace of workspaces) {
    const { next } = await poll(url, workspace, "after=latest");
    queries.set(workspace.id, `after=${next}`);
  }
  await publishSome(clients, workspaces, workspaces.length * after);
  const page = await look();
  const polls = workspaces.map((workspace) => ({ workspace, query: queryOf(workspace) }));
  return { page, look, load: await load.polls(polls, page.length) };
}
