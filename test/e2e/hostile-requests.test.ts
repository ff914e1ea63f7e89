import { send, signatureOf } from "../harness/bridge";
import { expectQuiet } from "../harness/output";
import { exchange, rawRequest, type RawAnswer } from "../harness/raw-http";
import { expectRefusal } from "../harness/refusals";
import { createWorkspace, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await createWorkspace(service.clients);
});

const EVENT = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":""}';
const ID = "{id}";

/** The paths of the tables, with the workspace's id in its place. */
const pathOf = (path: string) => path.replace(ID, workspace.id);
const signed = () => ({ "Service-Signature": signatureOf(workspace.secret, EVENT) });

function expectRaw(answer: RawAnswer | undefined, status: number): void {
  expect(answer).toBeDefined();
  if (answer !== undefined) expectRefusal({ ...answer, body: Buffer.from(answer.body) }, status);
}

/** No browser is to be let in. */
function expectNoCors(headers: object): void {
  expect(Object.keys(headers).filter((name) => /^(access-control-|allow$)/.test(name))).toEqual([]);
}

describe("an unknown path is answered 404:", () => {
  test.each([
    "/",
    "/hooks",
    "/hooks/",
    `/hooks/${ID}/`,
    `/hooks/${ID}/events`,
    `/hooks/${ID}/event`,
    `/hooks/${ID}//`,
    `//hooks/${ID}`,
    `/HOOKS/${ID}`,
    `/hooks/../hooks/${ID}`,
    `/hooks/%2e%2e/${ID}`,
    `/hooks/${ID}%2Fevents`,
    `/hooks%2F${ID}`,
    `/hooks/%2F${ID}`,
    `/hooks/${ID}%00`,
    `/hooks/${ID}%20`,
    `/hooks/${ID};a=b`,
    "/hooks/%zz",
    "/hooks/%",
    "/%zz",
    "/hooks/%ff%fe",
    `/hooks/${"a".repeat(10_000)}`,
    "/hooks/__proto__",
    "/favicon.ico",
    "/live",
    "/ready",
    "/metrics",
  ])("POST %s", async (path) => {
    const answer = await send(service.url, pathOf(path), { method: "POST", body: EVENT, headers: signed() });
    expectRefusal(answer, 404);
    expectNoCors(answer.headers);
  });

  test.each([
    ["of no type", {}],
    ["of a malformed type", { "Content-Type": "///" }],
    ["of a known type", { "Content-Type": "application/json" }],
    ["that is too large", { "Content-Type": "text/plain" }],
  ])("whatever body it comes with: one %s", async (what, headers) => {
    const body = what === "that is too large" ? "x".repeat(100_000) : "{";
    expectRefusal(await send(service.url, "/nowhere", { method: "POST", body, headers }), 404);
  });
});

describe("an unknown method is answered 404:", () => {
  test.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "SEARCH", "PURGE", "QUERY"])(
    "%s",
    async (method) => {
      for (const path of [`/hooks/${ID}`, "/"]) {
        const bodies = method === "TRACE" ? [undefined] : [undefined, EVENT];
        for (const body of bodies) {
          const answer = await send(service.url, pathOf(path), {
            method,
            headers: {
              ...signed(),
              Origin: "https://evil.test",
              "Access-Control-Request-Method": "POST",
              ...(body === undefined ? {} : { "Content-Length": String(body.length) }),
            },
            ...(body === undefined ? {} : { body }),
          });
          expectRefusal(answer, 404);
          expectNoCors(answer.headers);
        }
      }
    },
  );

  test("HEAD, which has no body, on every path", async () => {
    for (const path of [`/hooks/${ID}`, `/hooks/${ID}/events`, "/"]) {
      const answer = await send(service.url, pathOf(path), { method: "HEAD", headers: signed() });
      expect([answer.status, answer.body.length]).toEqual([404, 0]);
      expect(answer.headers["content-type"]).toMatch(/^application\/json\b/);
      expectNoCors(answer.headers);
    }
  });

  test("CONNECT", async () => {
    const { answers } = await exchange(service.url, "CONNECT core:50051 HTTP/1.1\r\nHost: core\r\n\r\n");
    expectRaw(answers[0], 404);
  });

  test("an upgrade is not made", async () => {
    const { answers } = await exchange(
      service.url,
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      { until: 1 },
    );
    expectRaw(answers[0], 404);
  });
});

test("an accepted request is no invitation to browsers either", async () => {
  const answer = await send(service.url, `/hooks/${workspace.id}`, {
    method: "POST",
    body: EVENT,
    headers: { ...signed(), Origin: "https://evil.test" },
  });
  expect(answer.status).toBe(202);
  expectNoCors(answer.headers);
});

test.each([
  ["a query string", (id: string) => `/hooks/${id}?after=1`],
  ["an empty query string", (id: string) => `/hooks/${id}?`],
  ["escaped hyphens in the id", (id: string) => `/hooks/${id.replaceAll("-", "%2D")}`],
  ["an absolute target", (id: string) => `http://bridge.test/hooks/${id}`],
])("a POST with %s finds its workspace", async (_what, path) => {
  const { answers } = await exchange(service.url, rawRequest("POST", path(workspace.id), signed(), EVENT), {
    until: 1,
  });
  expect(answers.map(({ status }) => status)).toEqual([202]);
});

describe("headers of over 16 KB are answered 431, and the connection ended:", () => {
  test.each<[string, (padding: string) => string]>([
    ["in one header", (padding) => `POST / HTTP/1.1\r\nHost: a\r\nX-Padding: ${padding}\r\n\r\n`],
    ["in the path", (padding) => `POST /${padding} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ["in a header's name", (padding) => `POST / HTTP/1.1\r\nHost: a\r\n${padding}: 1\r\n\r\n`],
    [
      "in a signature",
      (padding) => `POST / HTTP/1.1\r\nService-Signature: t=1,v1=${padding}\r\nHost: a\r\n\r\n`,
    ],
  ])("%s", async (_what, request) => {
    const { answers } = await exchange(service.url, request("a".repeat(16_500)));
    expectRaw(answers[0], 431);
  });

  test("many small ones", async () => {
    const many = Array.from({ length: 1_500 }, (_, i) => `X-${i}: aaaaaaaa\r\n`).join("");
    const { answers } = await exchange(service.url, `POST / HTTP/1.1\r\nHost: a\r\n${many}\r\n`);
    expectRaw(answers[0], 431);
  });
});

describe("what is not HTTP is answered 400, and the connection ended:", () => {
  test.each([
    ["words", "hello there\r\n\r\n"],
    ["an unknown method", "FETCH / HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["an unknown version", "GET / HTTP/9.9\r\nHost: a\r\n\r\n"],
    ["the start of TLS", Buffer.from("16030100c8010000c40303", "hex")],
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a header without a colon", "GET / HTTP/1.1\r\nHost a\r\n\r\n"],
    ["a header with a NUL", "GET / HTTP/1.1\r\nHost: a\u0000\r\n\r\n"],
    ["a header on two lines", "GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n 2\u0001\r\n\r\n"],
    ["no Host", "GET / HTTP/1.1\r\n\r\n"],
    ["two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}"],
    ["a length that is no number", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: two\r\n\r\n{}"],
    ["a negative length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n{}"],
    [
      "a length beside chunks",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ],
  ])("%s", async (_what, bytes) => {
    const { answers, ms } = await exchange(service.url, bytes);
    expectRaw(answers[0], 400);
    expect(answers).toHaveLength(1);
    expect(ms).toBeLessThan(8_000);
  });

  test.each([
    ["a chunk that is none, in a body that had begun", "chunked\r\n\r\n1\r\n{\r\nzz\r\n"],
    ["a body in a coding of which no end can be told", "gzip\r\n\r\n{}"],
  ])("%s", async (_what, rest) => {
    const { answers } = await exchange(
      service.url,
      `POST /hooks/${workspace.id} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${rest}`,
    );
    expectRaw(answers[0], 400);
    expect(answers).toHaveLength(1);
  });
});

test("requests that come together on one connection are answered in their order", async () => {
  const path = `/hooks/${workspace.id}`;
  const requests = [
    rawRequest("POST", path, signed(), EVENT),
    rawRequest("GET", "/nowhere"),
    rawRequest("POST", path, {}, EVENT),
    rawRequest("POST", path, {}, "{"),
    rawRequest("POST", path, signed(), EVENT),
  ];
  const { answers } = await exchange(service.url, Buffer.concat(requests), { until: requests.length });
  expect(answers.map(({ status }) => status)).toEqual([202, 404, 401, 400, 202]);
});

test("nothing of all that is logged", () => {
  expectQuiet([service.core, service.edge], [workspace.secret, "v1=", "evil.test"]);
});
