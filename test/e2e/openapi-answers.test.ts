import { channel } from "node:diagnostics_channel";
import type { Server } from "node:http";
import { Refusal, type Refused } from "../../proto/gen/chatbridge/v1/bridge";
import { readEdgeConfig } from "../../edge/config";
import type { CoreClient } from "../../edge/lane/core-client";
import { CoreUnavailable } from "../../edge/lane/core-unavailable";
import { createEdge, type Edge } from "../../edge/edge";
import { createLaneLoad } from "../../edge/lane/lane-load";
import { openApiDocument } from "../../edge/openapi/document";
import { send, type Answer } from "../harness/bridge";
import { contractOf } from "../harness/openapi";
import { exchange, rawRequest } from "../harness/raw-http";
import { expectRefusal } from "../harness/refusals";

const contract = contractOf(openApiDocument(), true);
const POST = "/hooks/{workspaceId}";
const POLL = "/hooks/{workspaceId}/events";
const ID = "0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11";
const EVENT = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":""}';
const PAGE = '{"events":[],"next":null,"hasMore":false,"gap":false}';

/**
 * Decides the outcome of each call to core. Returns the reason for a refusal, or undefined for a success. Throws if
 * the call fails.
 */
let next: () => Refused | undefined = () => undefined;
const SIGNATURE = `t=1,v1=${"0".repeat(64)}`;
const page = { body: Buffer.from(PAGE), signature: SIGNATURE, workspaceId: ID };
let edge: Edge;
let url: string;
beforeAll(async () => {
  const refusedOr = <Outcome>(outcome: Outcome) => {
    const value = next();
    return { outcome: value === undefined ? outcome : { $case: "refused" as const, value } };
  };
  const core: CoreClient = {
    receive: async () => refusedOr({ $case: "accepted", value: { repeated: false } }),
    poll: async () => refusedOr({ $case: "page", value: page }),
    load: createLaneLoad(),
    reportRefusals: async () => undefined,
    probe: async () => undefined,
    close: () => undefined,
  };
  const listening = { EDGE_LISTEN: "127.0.0.1:0", HEALTH_LISTEN: "127.0.0.1:0" };
  edge = await createEdge(readEdgeConfig({ CORE_TOKEN: "none", ...listening }), undefined, { core });
  url = `http://127.0.0.1:${edge.port}`;
});
afterAll(() => edge.close());

const post = (body: string | Buffer = EVENT) => send(url, `/hooks/${ID}`, { method: "POST", body });
const poll = () => send(url, `/hooks/${ID}/events`);

/** Fails unless the OpenAPI document describes this answer: its status, its headers and every field of its body. */
function expectDocumented(
  path: string,
  method: "get" | "post",
  { status, headers, body }: Pick<Answer, "status" | "headers"> & { readonly body: Buffer | string },
): void {
  const isDocumented = contract.answer(path, method, status);
  const json: unknown = JSON.parse(body.toString());
  expect([isDocumented(json), isDocumented.errors, json]).toEqual([true, null, json]);
  for (const [name, isValid] of Object.entries(contract.headers(path, method, status))) {
    const value = name === "retry-after" ? Number(headers[name]) : headers[name];
    expect([name, isValid(value)]).toEqual([name, true]);
  }
}

const refused =
  (refusal: Refusal, more: Partial<Refused> = {}) =>
  (): Refused => ({ refusal, violation: undefined, retryAfterSeconds: 0, ...more });
const fail = (error: Error) => (): never => {
  throw error;
};
const VIOLATION = { field: "user.id", message: "user.id is required" };
const REFUSALS: readonly (readonly [name: keyof typeof Refusal, status: number, act: typeof next])[] = [
  ["ADDRESS_LIMIT", 429, refused(Refusal.ADDRESS_LIMIT, { retryAfterSeconds: 1 })],
  ["UNKNOWN_WORKSPACE", 404, refused(Refusal.UNKNOWN_WORKSPACE)],
  ["SIGNATURE", 401, refused(Refusal.SIGNATURE)],
  ["TIMESTAMP", 409, refused(Refusal.TIMESTAMP)],
  ["WORKSPACE_LIMIT", 429, refused(Refusal.WORKSPACE_LIMIT, { retryAfterSeconds: 1 })],
  ["INVALID", 400, refused(Refusal.INVALID, { violation: VIOLATION })],
  ["PUSH_WORKSPACE", 403, refused(Refusal.PUSH_WORKSPACE)],
  ["SECRET_UNREADABLE", 503, refused(Refusal.SECRET_UNREADABLE)],
];

test("every reason for which core refuses a request is tested", () => {
  const all = Object.keys(Refusal).filter((name) => Number.isNaN(Number(name)) && name !== "UNSPECIFIED");
  expect(REFUSALS.map(([name]) => name)).toEqual(all);
});

// contract: error-schema
test.each<readonly [string, number, typeof next]>([
  ...REFUSALS,
  ["an unreachable core", 503, fail(new CoreUnavailable("unreachable"))],
  ["a bug", 500, fail(new Error("a bug"))],
  ["a success", 200, () => undefined],
])(
  "the OpenAPI document describes the answers to a post and a poll for %s: %i",
  async (name, status, act) => {
    next = act;
    const polled = await poll();
    expect(polled.status).toBe(status);
    expectDocumented(POLL, "get", polled);
    // This reason applies only to polls, because the bridge of a push workspace can still post events.
    if (name === "PUSH_WORKSPACE") return;
    const posted = await post();
    expect(posted.status).toBe(status === 200 ? 202 : status);
    expectDocumented(POST, "post", posted);
  },
);

test("if the edge cannot send a page, it answers the poll with 500, and keeps serving", async () => {
  next = () => undefined;
  page.signature = "no\nheader";
  const answer = await poll();
  page.signature = SIGNATURE;
  expectRefusal(answer, 500);
  expect(Object.keys(answer.headers)).not.toContain("service-workspace");
  expect((await poll()).status).toBe(200);
});

// contract: check-1-json, check-1-size, error-schema
test.each<[number, string | Buffer]>([
  [400, "{"],
  [413, Buffer.alloc(65_537, " ")],
])("the OpenAPI document describes the answer to a post with an invalid body: %i", async (status, body) => {
  next = () => undefined;
  const answer = await post(body);
  expect(answer.status).toBe(status);
  expectDocumented(POST, "post", answer);
});

/** Fails unless the edge answers these bytes with a documented error, and then closes the connection. */
async function expectEnded(bytes: string | Buffer, status: number): Promise<void> {
  const { answers } = await exchange(url, bytes);
  expect(answers.map((answer) => answer.status)).toEqual([status]);
  for (const answer of answers) {
    expectRefusal({ ...answer, body: Buffer.from(answer.body) }, status);
    expectDocumented(POST, "post", answer);
    expectDocumented(POLL, "get", answer);
  }
}

test("the OpenAPI document describes the answers to requests that are not valid HTTP, and to headers that are too long", async () => {
  await expectEnded(`POST /hooks/${ID} HTTP/1.1\r\nHost : a\r\n\r\n`, 400);
  await expectEnded(rawRequest("GET", `/hooks/${ID}/events`, { a: "b".repeat(20_000) }), 431);
});

/** Returns the HTTP server of the edge. */
async function findServer(): Promise<Server> {
  const started = channel("http.server.request.start");
  const found = new Promise<Server>((resolve) => {
    started.subscribe(function find(message) {
      started.unsubscribe(find);
      resolve((message as { server: Server }).server);
    });
  });
  await poll();
  return found;
}

// time: controlled
test("a request that is not complete within 10 seconds is answered with 408, and its connection is closed", async () => {
  const server = await findServer();
  expect([server.headersTimeout, server.requestTimeout]).toEqual([10_000, 10_000]);
  // Shortens both timeouts, so that the test takes less time.
  Object.assign(server, { headersTimeout: 300, requestTimeout: 300 });
  const head = `POST /hooks/${ID} HTTP/1.1\r\nHost: a\r\n`;
  await Promise.all(
    [
      "POST",
      `${head}Service-`,
      `${head}Content-Length: 500\r\n\r\n`,
      `${head}Content-Length: 500\r\n\r\n${EVENT}`,
      `${head}Transfer-Encoding: chunked\r\n\r\nff\r\n{`,
      `${head}Transfer-Encoding: chunked\r\n\r\n3e\r\n${EVENT}\r\n`,
    ].map((bytes) => expectEnded(bytes, 408)),
  );
});
