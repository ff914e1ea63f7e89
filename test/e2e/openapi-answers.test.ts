import { Refusal, type Refused } from "../../proto/gen/chatbridge/v1/bridge";
import { readEdgeConfig } from "../../edge/config";
import type { CoreClient } from "../../edge/core-client";
import { CoreUnavailable } from "../../edge/core-unavailable";
import { createEdge, type Edge } from "../../edge/edge";
import { createLaneLoad } from "../../edge/lane-load";
import { openApiDocument } from "../../edge/openapi";
import { send } from "../harness/bridge";
import { contractOf } from "../harness/openapi";
import { exchange, rawRequest } from "../harness/raw-http";

jest.setTimeout(120_000);

const contract = contractOf(openApiDocument(), true);
const POST = "/hooks/{workspaceId}";
const POLL = "/hooks/{workspaceId}/events";
const ID = "0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11";
const EVENT = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":""}';
const PAGE = '{"events":[],"next":null,"hasMore":false,"gap":false}';

/** What core does with the next call. */
let next: () => Refused | undefined = () => undefined;
let edge: Edge;
let url: string;
beforeAll(async () => {
  const core: CoreClient = {
    async receive() {
      const refused = next();
      return {
        outcome: refused
          ? { $case: "refused", value: refused }
          : { $case: "accepted", value: { repeated: false } },
      };
    },
    async poll() {
      const refused = next();
      const page = { body: Buffer.from(PAGE), signature: `t=1,v1=${"0".repeat(64)}`, workspaceId: ID };
      return { outcome: refused ? { $case: "refused", value: refused } : { $case: "page", value: page } };
    },
    load: createLaneLoad(),
    probe: async () => undefined,
    close: () => undefined,
  };
  const config = readEdgeConfig({
    CORE_TOKEN: "none",
    EDGE_LISTEN: "127.0.0.1:0",
    HEALTH_LISTEN: "127.0.0.1:0",
  });
  edge = await createEdge(config, undefined, { core });
  url = `http://127.0.0.1:${edge.port}`;
});
afterAll(() => edge.close());

type Heard = Pick<Awaited<ReturnType<typeof send>>, "status" | "headers"> & {
  readonly body: Buffer | string;
};

/** Fails unless the document has this answer: its status, its headers, its body to the last field. */
function expectDocumented(path: string, method: "get" | "post", { status, headers, body }: Heard): void {
  const isDocumented = contract.answer(path, method, status);
  const json: unknown = JSON.parse(body.toString());
  expect([isDocumented(json), isDocumented.errors, json]).toEqual([true, null, json]);
  for (const [name, isValid] of Object.entries(contract.headers(path, method, status))) {
    const value = name === "retry-after" ? Number(headers[name]) : headers[name];
    expect([name, isValid(value)]).toEqual([name, true]);
  }
}

const refused = (refusal: Refusal, more: Partial<Refused> = {}): Refused => ({
  refusal,
  violation: undefined,
  retryAfterSeconds: 0,
  ...more,
});
const OF_BOTH: readonly (readonly [name: string, status: number, refused: Refused])[] = [
  ["ADDRESS_LIMIT", 429, refused(Refusal.ADDRESS_LIMIT, { retryAfterSeconds: 1 })],
  ["UNKNOWN_WORKSPACE", 404, refused(Refusal.UNKNOWN_WORKSPACE)],
  ["SIGNATURE", 401, refused(Refusal.SIGNATURE)],
  ["TIMESTAMP", 409, refused(Refusal.TIMESTAMP)],
  ["WORKSPACE_LIMIT", 429, refused(Refusal.WORKSPACE_LIMIT, { retryAfterSeconds: 1 })],
  [
    "INVALID",
    400,
    refused(Refusal.INVALID, { violation: { field: "user.id", message: "user.id is required" } }),
  ],
];
const REFUSALS = [...OF_BOTH, ["PUSH_WORKSPACE", 403, refused(Refusal.PUSH_WORKSPACE)] as const];

const post = (body: string | Buffer = EVENT) => send(url, `/hooks/${ID}`, { method: "POST", body });
const poll = () => send(url, `/hooks/${ID}/events`);

test("there is a row for every refusal of core", () => {
  const all = Object.keys(Refusal).filter((name) => Number.isNaN(Number(name)) && name !== "UNSPECIFIED");
  expect(REFUSALS.map(([name]) => name)).toEqual(all);
});

// contract: error-schema
test.each(OF_BOTH)(
  "what a POST is answered for the refusal %s is in the document: %i",
  async (_name, status, refusal) => {
    next = () => refusal;
    const answer = await post();
    expect(answer.status).toBe(status);
    expectDocumented(POST, "post", answer);
  },
);

test.each(REFUSALS)(
  "what a poll is answered for the refusal %s is in the document: %i",
  async (_name, status, refusal) => {
    next = () => refusal;
    const answer = await poll();
    expect(answer.status).toBe(status);
    expectDocumented(POLL, "get", answer);
  },
);

test.each<[string, number, () => Refused | undefined]>([
  ["a success", 0, () => undefined],
  [
    "core out of reach",
    503,
    () => {
      throw new CoreUnavailable("away");
    },
  ],
  [
    "a fault",
    500,
    () => {
      throw new Error("a bug");
    },
  ],
])("what either is answered for %s is in the document", async (_what, status, act) => {
  next = act;
  const [posted, polled] = [await post(), await poll()];
  expect([posted.status, polled.status]).toEqual(status === 0 ? [202, 200] : [status, status]);
  expectDocumented(POST, "post", posted);
  expectDocumented(POLL, "get", polled);
});

// contract: check-1-json, check-1-size, error-schema
test.each<[number, string | Buffer]>([
  [400, "{"],
  [400, Buffer.from([0xff])],
  [413, Buffer.alloc(65_537, " ")],
])("what a POST is answered %i for its body is in the document", async (status, body) => {
  next = () => undefined;
  const answer = await post(body);
  expect(answer.status).toBe(status);
  expectDocumented(POST, "post", answer);
});

test.each<[string, number, () => Buffer]>([
  ["is not HTTP", 400, () => Buffer.from(`POST /hooks/${ID} HTTP/1.1\r\nHost : a\r\n\r\n`)],
  ["has too long headers", 431, () => rawRequest("GET", `/hooks/${ID}/events`, { a: "b".repeat(20_000) })],
  ["falls silent", 408, () => rawRequest("POST", `/hooks/${ID}`, {}, EVENT).subarray(0, -1)],
])("what a request is answered that %s is in the document for both: %i", async (_what, status, bytes) => {
  const { answers } = await exchange(url, bytes(), { withinMs: 60_000 });
  expect(answers.map((answer) => answer.status)).toEqual([status]);
  for (const answer of answers) {
    expectDocumented(POST, "post", answer);
    expectDocumented(POLL, "get", answer);
  }
});
