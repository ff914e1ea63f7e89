import { credentials } from "@grpc/grpc-js";
import { Agent, request } from "undici";
import { GameServiceClient, PublishRefusal, type OutboundEvent } from "../../proto/gen/chatbridge/v1/game";
import { WatchWorkspaceRequest, WorkspaceServiceClient } from "../../proto/gen/chatbridge/v1/workspace";
import { bearer, callUnary, type UnaryMethod } from "../../runtime/core-channel";
import { signatureOf } from "../load/signed-requests";
import { openFollow, untilOpen, type FollowOptions, type OpenStream } from "../load/streams";
import { Refused } from "./tally";
import type { Place, Tenant, TenantWorkspace } from "./tenant";

/** The calls of a tenant. A call rejects with a ServiceError or `Refused` unless the answer is a success. */
export type TenantClient = ReturnType<typeof connectTenant>;

/** A page of events, as the poll returns it. */
interface Page {
  readonly events: readonly { readonly message?: { readonly text: string } }[];
  readonly next: string;
  readonly hasMore: boolean;
}

interface HttpRequest {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const ANSWER_WITHIN_MS = 20_000;
const CONNECTIONS = 256;

export function connectTenant({ coreAddress, url, dashboardUrl }: Place, tenant: Tenant) {
  const { gameToken, operatorToken, name } = tenant;
  // Without this option, all tenants of a process would share one connection, and its limit on streams.
  const options = { "grpc.use_local_subchannel_pool": 1 };
  const games = new GameServiceClient(coreAddress, credentials.createInsecure(), options);
  const workspaces = new WorkspaceServiceClient(coreAddress, credentials.createInsecure(), options);
  const agent = new Agent({
    localAddress: tenant.address,
    connections: CONNECTIONS,
    pipelining: 1,
    headersTimeout: ANSWER_WITHIN_MS,
  });

  return {
    /** The generated client that is passed to `operator`. */
    workspaces,
    operator: <Request, Response>(
      method: UnaryMethod<Request, Response>,
      sent: Request,
      withinMs = ANSWER_WITHIN_MS,
    ) => callUnary(workspaces, method, sent, bearer(operatorToken), withinMs),

    /** Posts an inbound event. Signs the event with `secret`, by default with the workspace's secret. */
    async post(to: TenantWorkspace, event: object, secret = to.secret): Promise<void> {
      const body = JSON.stringify(event);
      const headers = {
        "content-type": "application/json",
        "service-signature": signatureOf(secret, body),
      };
      await ask(agent, `${url}/hooks/${to.id}`, { method: "POST", headers, body });
    },

    async poll({ id, secret }: TenantWorkspace, query: string): Promise<Page> {
      const headers = { "service-signature": signatureOf(secret, query) };
      const { text } = await ask(agent, `${url}/hooks/${id}/events?${query}`, { headers });
      return JSON.parse(text) as Page;
    },

    /** Publishes events. Rejects if core does not publish all events. */
    async publish(events: OutboundEvent[], withinMs = ANSWER_WITHIN_MS): Promise<void> {
      const { results } = await callUnary(
        games,
        games.publishEvents,
        { events },
        bearer(gameToken),
        withinMs,
      );
      for (const { outcome } of results) {
        if (outcome?.$case === "published") continue;
        throw new Refused(outcome === undefined ? "no outcome" : PublishRefusal[outcome.value.reason]);
      }
    },

    /** Opens a `Follow` stream, by default for the tenant's group. */
    follow: (open: Partial<FollowOptions> & Pick<FollowOptions, "consumer">) =>
      openFollow(games, bearer(gameToken), { group: name, ...open }),

    /** Opens a watch of a workspace. Resolves when the first message has arrived. */
    watch: ({ id }: TenantWorkspace): Promise<OpenStream> =>
      untilOpen(
        workspaces.watchWorkspace(WatchWorkspaceRequest.create({ workspaceId: id }), bearer(operatorToken)),
      ),

    ...connectToDashboard(dashboardUrl, operatorToken, agent),

    async close(): Promise<void> {
      games.close();
      workspaces.close();
      await agent.destroy();
    },
  };
}

/** The headers of the dashboard's page. */
const OF_PAGE = { "x-dashboard": "1", "sec-fetch-site": "same-origin" };

/** Calls the dashboard's API as the dashboard's page does. */
function connectToDashboard(dashboardUrl: string, token: string, agent: Agent) {
  const api = `${dashboardUrl}/api`;
  const call = (path: string, { headers, ...rest }: HttpRequest = {}) =>
    ask(agent, `${api}${path}`, { ...rest, headers: { ...OF_PAGE, ...headers } });
  return {
    /** Signs in to the dashboard. Returns the cookie of the session. */
    async signIn(): Promise<string> {
      const body = JSON.stringify({ token });
      const headers = { "content-type": "application/json" };
      const answer = await call("/session", { method: "POST", headers, body });
      return /^[^;]*/.exec(String(answer.headers["set-cookie"]))?.[0] ?? "";
    },
    signOut: (cookie: string) => call("/session", { method: "DELETE", headers: { cookie } }),
    /** Gets the data for the dashboard's page of a workspace. */
    page: ({ id }: TenantWorkspace, cookie: string) => call(`/workspaces/${id}`, { headers: { cookie } }),
    /** Opens the stream of changes that a page of the dashboard reads. Resolves to a function that closes the stream. */
    async openPage({ id }: TenantWorkspace, cookie: string): Promise<() => void> {
      const headers = { ...OF_PAGE, cookie };
      const { statusCode, body } = await request(`${api}/workspaces/${id}/watch`, {
        headers,
        dispatcher: agent,
      });
      // The stream never ends by itself, so its error after `destroy` is expected.
      body.on("error", () => undefined).resume();
      if (statusCode < 300) return () => void body.destroy();
      body.destroy();
      throw new Refused(String(statusCode));
    },
  };
}

/** Sends a request. Resolves to the answer's headers and body; rejects with `Refused` unless the status is a success. */
async function ask(agent: Agent, url: string, { method = "GET", headers = {}, body }: HttpRequest) {
  const sent = { method, headers, dispatcher: agent, ...(body !== undefined && { body }) };
  const answer = await request(url, sent);
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Refused(String(answer.statusCode));
  return { headers: answer.headers, text };
}
