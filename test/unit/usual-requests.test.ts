import type { AddressInfo } from "node:net";
import * as fc from "fast-check";
import type { FastifyInstance } from "fastify";
import type { CoreClient } from "../../edge/lane/core-client";
import { Hooks } from "../../edge/public/hooks";
import { addHooks } from "../../edge/public/hooks-routes";
import { createPublicListener } from "../../edge/public/public-listener";
import { createTurns } from "../../edge/public/request-turns";
import { createTrust } from "../../edge/public/source-address";
import { createUnsentPages } from "../../edge/public/unsent-pages";
import { answerUsualRequests } from "../../edge/public/usual-requests";
import { Refusal, type PollRequest, type ReceiveRequest } from "../../proto/gen/chatbridge/v1/bridge";
import { many } from "../harness/for-all";
import { exchange } from "../harness/raw-http";

const TRUSTED = ["127.0.0.1", "10.0.0.0/8"];
const ID = "0190a0b0-1234-7abc-8def-0123456789ab";
const EVENT = JSON.stringify({ type: "message", channel: "c1", user: { id: "u1" }, text: "hi ✓" });

/** The requests that core got, the reported refusals and errors, and the number of usual requests. */
const seen: { core: unknown[]; refused: unknown[]; reported: unknown[]; usual: number } = {
  core: [],
  refused: [],
  reported: [],
  usual: 0,
};
const unsent = createUnsentPages();
const apps: FastifyInstance[] = [];
afterAll(async () => {
  unsent.close();
  await Promise.all(apps.map((app) => app.close()));
});

/** Core accepts most requests. Some ids cause a refusal, an invalid header, or an error. */
const core = {
  receive: async (request: ReceiveRequest) => {
    seen.core.push(request);
    return outcomeFor(request.workspaceId) ?? { outcome: { $case: "accepted", value: { repeated: false } } };
  },
  poll: async (request: PollRequest) => {
    seen.core.push(request);
    const { workspaceId } = request;
    const signature = workspaceId === "bad-header" ? "\n" : "t=1,v1=00";
    const page = { body: Buffer.from(`{"events":[]}`), signature, workspaceId };
    return outcomeFor(workspaceId) ?? { outcome: { $case: "page", value: page } };
  },
} as unknown as CoreClient;

function outcomeFor(id: string) {
  if (id === "error") throw new Error("a bug");
  if (id !== "limit") return undefined;
  const value = { refusal: Refusal.WORKSPACE_LIMIT, violation: undefined, retryAfterSeconds: 2 };
  return { outcome: { $case: "refused", value } };
}

/** Starts a listener, and returns its base URL. */
async function start(answersUsual: boolean): Promise<string> {
  const report = (where: string, error: unknown) => seen.reported.push([where, String(error)]);
  const takeTurn = createTurns();
  const app = createPublicListener({ trustProxy: TRUSTED, report, takeTurn });
  apps.push(app);
  const refusals = { add: (...args: unknown[]) => seen.refused.push(args.slice(0, 3)) } as never;
  const hooks = new Hooks({ core, unsent, refusals, tracer: undefined, report });
  await app.register(async (scope) => addHooks(scope, hooks));
  if (answersUsual) {
    const isTrusted = createTrust(TRUSTED);
    const onAnswered = () => (seen.usual += 1);
    answerUsualRequests(app, { hooks, takeTurn, isTrusted, isDraining: () => false, onAnswered });
  }
  await app.listen({ port: 0, host: "127.0.0.1" });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

/** Sends a request, and returns all its effects. */
async function effects(base: string, request: Buffer) {
  [seen.core, seen.refused, seen.reported] = [[], [], []];
  const { answers } = await exchange(base, request, { until: 1 });
  const { core: calls, refused, reported } = seen;
  return {
    answers: answers.map((each) => ({ ...each, headers: { ...each.headers, date: "" } })),
    calls,
    refused,
    reported,
  };
}

const usually = <T>(usual: T, ...others: T[]) =>
  fc.oneof(
    { weight: 20, arbitrary: fc.constant(usual) },
    { weight: 2, arbitrary: fc.constantFrom(...others) },
  );
const ids = usually(
  ID,
  ID.toUpperCase(),
  "limit",
  "error",
  "bad-header",
  "x_1",
  "x".repeat(900),
  "",
  "%41b",
  "%zz",
  "%2F",
  "a;b",
  "é",
);
const parts = fc.record({
  method: usually("POST", "GET", "PUT", "OPTIONS"),
  id: ids,
  rest: usually("", "/events", "/events/", "/x"),
  query: usually("", "?", "?after=1&limit=3", "?after=x", "?a=%zz?b", "#x", ";x"),
  version: usually("1.1", "1.0"),
  hosts: usually(1, 0, 2),
  forwarded: usually(
    "192.0.2.7",
    "",
    "::ffff:192.0.2.1",
    "nobody",
    "192.0.2.9, 10.1.2.3",
    "8.8.8.8,9.9.9.9 , 10.0.0.1",
    "2001:db8::1%en0",
  ),
  signatures: usually(1, 0, 2),
  more: usually(
    "",
    "Expect: 100-continue\r\n",
    "Expect: x\r\n",
    "Content-Type: text/plain\r\n",
    "Content-Type: ;\r\n",
    "Content-Encoding: gzip\r\n",
    "Upgrade: x\r\nConnection: upgrade\r\n",
    "Connection: close\r\n",
    "Accept-Version: 1.x\r\n",
    "Origin: x\r\n",
  ),
  body: usually(
    EVENT,
    "",
    "{",
    "[]",
    `{"type":"message","text":"${"x".repeat(20_000)}"}`,
    " ".repeat(65_537),
  ),
  length: usually("length", "chunked", "none"),
});

function bytesOf(of: typeof parts extends fc.Arbitrary<infer T> ? T : never): Buffer {
  const isPoll = of.method === "GET";
  const path = `/hooks/${of.id}${isPoll && of.rest === "" ? "/events" : of.rest}${of.query}`;
  const size = Buffer.byteLength(of.body);
  const isChunked = of.length === "chunked" && size > 0 && of.version === "1.1";
  const framing = isChunked ? "Transfer-Encoding: chunked\r\n" : `Content-Length: ${size}\r\n`;
  const content = isChunked ? `${size.toString(16)}\r\n${of.body}\r\n0\r\n\r\n` : of.body;
  const hasBody = of.length !== "none" && !isPoll;
  return Buffer.from(
    `${of.method} ${path} HTTP/${of.version}\r\n${"Host: x\r\n".repeat(of.hosts)}` +
      (of.forwarded === "" ? "" : `X-Forwarded-For: ${of.forwarded}\r\n`) +
      `${"Service-Signature: t=1,v1=ab\r\n".repeat(of.signatures)}${of.more}` +
      `${hasBody ? framing : ""}\r\n${hasBody ? content : ""}`,
  );
}

test("a request has the same answer and the same effects, whether or not Fastify routes it", async () => {
  const [direct, viaFastify] = [await start(true), await start(false)];
  const requests = fc.asyncProperty(parts, async (of) => {
    const request = bytesOf(of);
    expect(await effects(direct, request)).toEqual(await effects(viaFastify, request));
  });
  await fc.assert(requests, { numRuns: many(600) });
  expect(seen.usual).toBeGreaterThan(0);
});
