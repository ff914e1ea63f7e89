import { send, signatureOf } from "../harness/bridge";
import { expectQuiet } from "../harness/output";
import { exchange, rawRequest, statusesOf } from "../harness/raw-http";
import { expectRefusal } from "../harness/refusals";
import { freshWorkspace, sharedService } from "../harness/shared-service";

const service = sharedService();
const workspace = freshWorkspace(service);

const EVENT = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":""}';
const ID = "{id}";

/** Replaces the placeholder `ID` in a path with the workspace's id. */
const pathOf = (path: string) => path.replace(ID, workspace.id);
const signed = () => ({ "Service-Signature": signatureOf(workspace.secret, EVENT) });

/** Fails unless the edge answers these bytes once, with this status, and then closes the connection. */
async function expectEnded(bytes: string | Buffer, status: number): Promise<void> {
  const { answers } = await exchange(service.url, bytes);
  expect(answers).toHaveLength(1);
  for (const answer of answers) expectRefusal({ ...answer, body: Buffer.from(answer.body) }, status);
}

/** Fails if an answer has a CORS header or the header `Allow`. */
function expectNoCors(headers: object): void {
  expect(Object.keys(headers).filter((name) => /^(access-control-|allow$)/.test(name))).toEqual([]);
}

describe("an unknown path is answered with 404:", () => {
  test.each([
    "/",
    "/hooks/",
    `/hooks/${ID}/`,
    `/hooks/${ID}/events`,
    `//hooks/${ID}`,
    `/HOOKS/${ID}`,
    `/hooks/../hooks/${ID}`,
    `/hooks/${ID}%2Fevents`,
    `/hooks/${ID}%00`,
    `/hooks/${ID};a=b`,
    "/%zz",
    "/hooks/%ff%fe",
    `/hooks/${"a".repeat(10_000)}`,
    "/hooks/__proto__",
    "/live",
    "/metrics",
  ])("POST %s", async (path) => {
    const answer = await send(service.url, pathOf(path), { method: "POST", body: EVENT, headers: signed() });
    expectRefusal(answer, 404);
    expectNoCors(answer.headers);
  });

  test("a POST whose body is too large or not JSON", async () => {
    for (const body of ["{", "x".repeat(100_000)]) {
      expectRefusal(await send(service.url, "/nowhere", { method: "POST", body }), 404);
    }
    const headers = { "Content-Type": "///" };
    expectRefusal(await send(service.url, "/nowhere", { method: "POST", body: "{", headers }), 404);
  });
});

describe("an unsupported method is answered with 404:", () => {
  const fromBrowser = { Origin: "https://evil.test", "Access-Control-Request-Method": "POST" };

  test.each(["GET", "PUT", "DELETE", "OPTIONS", "PROPFIND", "QUERY"])("%s", async (method) => {
    for (const path of [pathOf(`/hooks/${ID}`), "/"]) {
      for (const body of ["", EVENT]) {
        const headers = { ...signed(), ...fromBrowser, "Content-Length": String(body.length) };
        const answer = await send(service.url, path, { method, headers, body });
        expectRefusal(answer, 404);
        expectNoCors(answer.headers);
      }
    }
  });

  test("HEAD, whose answer has no body, on known and unknown paths", async () => {
    for (const path of [`/hooks/${ID}`, `/hooks/${ID}/events`, "/"]) {
      const answer = await send(service.url, pathOf(path), { method: "HEAD", headers: signed() });
      expect([answer.status, answer.body.length]).toEqual([404, 0]);
      expect(answer.headers["content-type"]).toMatch(/^application\/json\b/);
      expectNoCors(answer.headers);
    }
  });

  test("CONNECT", () => expectEnded("CONNECT core:50051 HTTP/1.1\r\nHost: core\r\n\r\n", 404));

  test("GET with an upgrade", async () => {
    const upgrade = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    expect(await statusesOf(service.url, upgrade, { until: 1 })).toEqual([404]);
  });
});

const TEXT = "application/json; charset=utf-8";
const KEPT = { connection: "keep-alive", "keep-alive": "timeout=65" };

test.each([
  ["a connection that is kept open", "HTTP/1.1", {}, KEPT],
  ["a connection that the client closes", "HTTP/1.1", { Connection: "close" }, { connection: "close" }],
  ["an HTTP/1.0 connection", "HTTP/1.0", {}, { connection: "close" }],
  ["an HTTP/1.0 connection that is kept open", "HTTP/1.0", { Connection: "keep-alive" }, KEPT],
])(
  "answers to a browser have only the expected headers, and no CORS headers, on %s",
  async (_which, version, sent, connection) => {
    const ask = async (method: string, path: string, headers: object, body = "") => {
      const all = { Origin: "https://evil.test", ...headers, ...sent };
      const request = rawRequest(method, pathOf(path), all, body).toString();
      const bytes = request.replace("HTTP/1.1", version);
      return (await exchange(service.url, bytes, { until: 1 })).answers;
    };
    const answer = (status: number, contentType: string, body: string, headers = {}) => {
      const all = {
        "content-type": contentType,
        "content-length": String(body.length),
        ...connection,
        ...headers,
      };
      return [{ status, headers: { ...all, date: expect.stringMatching(/ GMT$/) }, body }];
    };
    expect(await ask("POST", `/hooks/${ID}`, signed(), EVENT)).toEqual(answer(202, TEXT, '{"ok":true}'));
    const page = '{"events":[],"next":null,"hasMore":false,"gap":false}';
    const signature = { "Service-Signature": signatureOf(workspace.secret, "") };
    expect(await ask("GET", `/hooks/${ID}/events`, signature)).toEqual(
      answer(200, "application/json", page, {
        "service-signature": expect.stringMatching(/^t=\d+,v1=[0-9a-f]{64}$/),
        "service-workspace": workspace.id,
      }),
    );
    const notFound = '{"statusCode":404,"message":"no such path or workspace","error":"Not Found"}';
    expect(await ask("GET", "/", {})).toEqual(answer(404, TEXT, notFound));
  },
);

test.each([
  ["a query string", (id: string) => `/hooks/${id}?after=1`],
  ["an empty query string", (id: string) => `/hooks/${id}?`],
  ["escaped hyphens in the id", (id: string) => `/hooks/${id.replaceAll("-", "%2D")}`],
  ["an absolute URL as its target", (id: string) => `http://bridge.test/hooks/${id}`],
])("a POST with %s reaches its workspace", async (_what, path) => {
  const bytes = rawRequest("POST", path(workspace.id), signed(), EVENT);
  expect(await statusesOf(service.url, bytes, { until: 1 })).toEqual([202]);
});

test("all headers within 16 KB are read: a signature after 2,500 other headers is found", async () => {
  const request = rawRequest("POST", pathOf(`/hooks/${ID}`), signed(), EVENT).toString();
  const bytes = request.replace("Host:", `${"a:\r\n".repeat(2_500)}Host:`);
  expect(await statusesOf(service.url, bytes, { until: 1 })).toEqual([202]);
});

const PADDING = "a".repeat(16_500);

test.each([
  ["in one header", `POST / HTTP/1.1\r\nHost: a\r\nX-Padding: ${PADDING}\r\n\r\n`],
  ["in the path", `POST /${PADDING} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ["in a signature", `POST / HTTP/1.1\r\nService-Signature: t=1,v1=${PADDING}\r\nHost: a\r\n\r\n`],
])(
  "a head of over 16 KB, most of it %s, is answered with 431, and the connection is closed",
  (_where, bytes) => expectEnded(bytes, 431),
);

const LENGTHS = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ";
const CODED = "POST /hooks/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ";

test.each([
  ["an unknown method", "FETCH / HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["the start of TLS", Buffer.from("16030100c8010000c40303", "hex")],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["a header with a NUL", "GET / HTTP/1.1\r\nHost: a\u0000\r\n\r\n"],
  [
    "a header on two lines, with a control character",
    "GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n 2\u0001\r\n\r\n",
  ],
  ["two hosts", "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\nhost: a\r\n\r\n"],
  ["two hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"],
  ["two lengths", `${LENGTHS}1\r\nContent-Length: 2\r\n\r\n{}`],
  ["a negative length", `${LENGTHS}-1\r\n\r\n{}`],
  ["a length and chunks", `${LENGTHS}2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
  ["a malformed chunk after a valid chunk", `${CODED}chunked\r\n\r\n1\r\n{\r\nzz\r\n`],
  ["a body of unknown length", `${CODED}gzip\r\n\r\n{}`],
])(
  "a request that is not valid HTTP is answered with 400, and the connection is closed: %s",
  (_what, bytes) => expectEnded(bytes, 400),
);

test("the requests in this file cause no logged error, and no secret, signature or origin in them is logged", () => {
  expectQuiet([service.core, service.edge], [workspace.secret, "v1=", "evil.test"]);
});
