import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from "node:http";
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { connect, type AddressInfo } from "node:net";
import { BODY_MAX_BYTES, HEADERS_MAX_BYTES } from "../../contract/numbers";
import { signatureOf } from "../harness/bridge";
import { dashboardUrlOf } from "../harness/dashboard";
import { testFolder } from "../harness/folder";
import { NAMES, startMachineProxy, type MachineProxy, type ProxyName } from "../harness/machine-proxy";
import { TOKENS } from "../harness/processes";
import { ANSWERED, FORWARDED } from "../harness/proxy-cases";
import { exchange, rawRequest } from "../harness/raw-http";
import { startService, type TestService, type TestWorkspace } from "../harness/service";
import { createTestCa, type TestCa } from "../harness/test-ca";
import { until } from "../harness/wait";
import { findCaddy, findNginx } from "../programs/apt";

// Runs Caddy and nginx with the configuration that `chat-bridge setup` writes. Behind them are a real edge with its
// dashboard, and a server that answers each request with the headers that it received.

const folder = testFolder();
const JSON_TYPE = /^application\/json/;
let ca: TestCa;
let service: TestService;
let workspace: TestWorkspace;

beforeAll(async () => {
  await Promise.all([findCaddy(), findNginx()]);
  ca = createTestCa();
  service = await startService({ edge: { TRUST_PROXY: "127.0.0.1", DASHBOARD_LISTEN: "127.0.0.1:0" } });
  workspace = await service.workspaces.make();
}, 300_000);
afterAll(async () => {
  ca?.close();
  await service?.close();
});

/** A server that answers with the headers of the request, except for /waits, which it never answers. */
async function startEcho(): Promise<Server> {
  const server = createServer({ maxHeaderSize: HEADERS_MAX_BYTES }, (asked, answer) => {
    if (asked.url !== "/waits") answer.end(JSON.stringify(asked.headers));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly from?: string;
}

/** Sends a request through the proxy with TLS. Resolves to the answer; undefined if the connection was closed without one. */
async function ask(proxy: MachineProxy, to: keyof typeof NAMES, path: string, request: Ask = {}) {
  const { method = "GET", headers, body, from } = request;
  const bytes = rawRequest(method, path, { ...headers, Host: NAMES[to], Connection: "close" }, body);
  const { answers } = await exchange(proxy.plain[to], bytes, { until: 1, ...(from && { from }) });
  return answers[0];
}

/** Posts a signed event whose body has a given size. */
function post(proxy: MachineProxy, size: number) {
  const event = { type: "message", channel: "c1", user: { id: "u1" }, text: "" };
  const text = "x".repeat(3_900);
  const body = JSON.stringify({ ...event, text }).padEnd(size, " ");
  const headers = {
    "Content-Type": "application/json",
    "Service-Signature": signatureOf(workspace.secret, body),
  };
  return ask(proxy, "hooks", `/hooks/${workspace.id}`, { method: "POST", headers, body });
}

describe.each<[ProxyName]>([["caddy"], ["nginx"]])("%s in front of an edge", (kind) => {
  let proxy: MachineProxy;
  beforeAll(async () => {
    const upstream = {
      hooks: service.edge.port,
      dashboard: Number(new URL(dashboardUrlOf(service.edge)).port),
    };
    proxy = await startMachineProxy(kind, { folder, ca, upstream });
  }, 120_000);
  afterAll(() => proxy?.stop());

  test("bridges reach the edge with TLS, and HTTP is redirected to HTTPS with the same method", async () => {
    expect(await post(proxy, 4_096)).toMatchObject({ status: 202 });
    const bytes = rawRequest("POST", "/hooks/x", { Host: NAMES.hooks, Connection: "close" });
    const { answers } = await exchange(`http://127.0.0.1:${proxy.http}`, bytes, { until: 1 });
    expect(answers[0]?.status).toBe(308);
    expect(answers[0]?.headers["location"]).toMatch(new RegExp(`^https://${NAMES.hooks}(:\\d+)?/hooks/x$`));
  });

  test("the largest body is accepted, and the edge answers larger bodies with 413", async () => {
    expect(await post(proxy, BODY_MAX_BYTES)).toMatchObject({ status: 202 });
    for (const size of [BODY_MAX_BYTES + 1, 900_000]) {
      const answer = await post(proxy, size);
      expect(answer).toMatchObject({
        status: 413,
        headers: { "content-type": expect.stringMatching(JSON_TYPE) },
      });
      expect(JSON.parse(answer?.body ?? "")).toEqual({ statusCode: 413, message: expect.any(String) });
    }
  });

  // time: smoke
  test("the connection of an incomplete request is closed; an answer, if any, has the contract's error body", async () => {
    const start = `POST /hooks/x HTTP/1.1\r\nHost: ${NAMES.hooks}\r\nContent-Length: 100\r\n\r\n{`;
    const { answers } = await exchange(proxy.plain.hooks, start);
    for (const { status, body } of answers) expect(JSON.parse(body)).toMatchObject({ statusCode: status });
  });

  test("the paths of the proxy's own error bodies cannot be requested", async () => {
    const bytes = rawRequest("GET", "/chat-bridge-errors/429", { Host: NAMES.hooks, Connection: "close" });
    const { answers } = await exchange(proxy.plain.hooks, bytes, { until: 1 });
    const [{ body } = { body: "" }] = answers;
    expect(JSON.parse(body)).toEqual({
      statusCode: 404,
      message: "no such path or workspace",
      error: "Not Found",
    });
  });

  test("the dashboard's live updates arrive while the stream is open", async () => {
    const headers = {
      "x-dashboard": "1",
      "sec-fetch-site": "same-origin",
      "content-type": "application/json",
    };
    const body = JSON.stringify({ token: TOKENS.operator });
    const signedIn = await ask(proxy, "dashboard", "/api/session", { method: "POST", headers, body });
    expect(signedIn).toMatchObject({ status: 200 });
    const cookie = signedIn?.headers["set-cookie"] ?? "";
    expect(cookie).toMatch(/^__Host-.*; Secure/);
    const socket = connect(Number(new URL(proxy.plain.dashboard).port), "127.0.0.1");
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString()));
    socket.write(
      `GET /api/workspaces/${workspace.id}/watch HTTP/1.1\r\nHost: ${NAMES.dashboard}\r\nX-Dashboard: 1\r\n` +
        `Sec-Fetch-Site: same-origin\r\nCookie: ${cookie.split(";")[0]}\r\n\r\n`,
    );
    await until(`two heartbeats arrive; received ${received}`, () => received.split("data:").length > 2);
    expect(received).toMatch(/^content-type: text\/event-stream/im);
    socket.destroy();
  });
});

describe.each<[ProxyName]>([["caddy"], ["nginx"]])("%s in front of a server that echoes headers", (kind) => {
  let echo: Server;
  let proxy: MachineProxy;
  beforeAll(async () => {
    echo = await startEcho();
    const upstream = { hooks: portOf(echo), dashboard: portOf(echo) };
    proxy = await startMachineProxy(kind, { folder, ca, upstream });
  }, 120_000);
  afterAll(async () => {
    await proxy?.stop();
    echo.closeAllConnections();
    echo.close();
  });

  test.each(["hooks", "dashboard"] as const)(
    "%s sees the real address of a client, not one that the client claims",
    async (to) => {
      const claimed = {
        "X-Forwarded-For": "203.0.113.9",
        "X-Forwarded-Proto": "http",
        "X-Forwarded-Host": "evil",
      };
      for (const from of ["127.0.0.7", "127.0.0.8"]) {
        const answer = await ask(proxy, to, "/hooks/x", { headers: claimed, from });
        const seen = JSON.parse(answer?.body ?? "") as IncomingHttpHeaders;
        expect(seen).toMatchObject({
          "x-forwarded-for": from,
          "x-forwarded-proto": "https",
          "x-forwarded-host": NAMES[to],
          host: NAMES[to],
        });
      }
    },
  );

  test.each(FORWARDED)("the server answers a request with %s", async (_what, bytes, status) => {
    const { answers } = await exchange(proxy.plain.hooks, bytes(NAMES.hooks), { until: 1 });
    expect(answers.map((answer) => answer.status)).toEqual([status]);
  });

  // time: smoke
  test.each(ANSWERED)(
    "the proxy's own answer to a request that %s has the contract's error body",
    async (_what, bytes, status) => {
      const { answers } = await exchange(proxy.plain.hooks, bytes(NAMES.hooks));
      if (kind === "caddy") {
        // Caddy's HTTP server writes its answers to malformed requests itself, as plain text.
        for (const answer of answers) expect(answer.status).toBeGreaterThanOrEqual(400);
        return;
      }
      // nginx closes a connection whose head does not arrive in time, without an answer. It answers a malformed chunk before or
      // after it has chosen the server, so the connection may also be closed.
      if (status === 408) return expect(answers).toEqual([]);
      expect(answers).toMatchObject([
        { status, headers: { "content-type": expect.stringMatching(JSON_TYPE) } },
      ]);
      expect(JSON.parse(answers[0]?.body ?? "")).toMatchObject({ statusCode: status });
    },
  );

  test("while the server is stopped, the answer is 503 with the contract's error body and Retry-After", async () => {
    const { port } = echo.address() as AddressInfo;
    echo.closeAllConnections();
    await new Promise((resolve) => echo.close(resolve));
    const answer = await ask(proxy, "hooks", "/hooks/x", { method: "POST", body: "{}" });
    expect(answer).toMatchObject({
      status: 503,
      headers: { "retry-after": "1", "content-type": expect.stringMatching(JSON_TYPE) },
    });
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({ statusCode: 503, error: "Service Unavailable" });
    echo.listen(port, "127.0.0.1");
    await once(echo, "listening");
    expect(await ask(proxy, "hooks", "/hooks/x")).toMatchObject({ status: 200 });
  });
});

test("nginx answers with 429 when one address has 1,000 requests in progress, and serves another address", async () => {
  const echo = await startEcho();
  const upstream = { hooks: portOf(echo), dashboard: portOf(echo) };
  const proxy = await startMachineProxy("nginx", { folder, ca, upstream });
  const inProgress = new Set<IncomingMessage>();
  echo.on("request", (asked, answer) => {
    if (asked.url !== "/waits") return;
    inProgress.add(asked);
    answer.on("close", () => inProgress.delete(asked));
  });
  const sessions: ClientHttp2Session[] = [];
  /** Sends 100 requests over one connection. Resolves when each request is in progress or answered. */
  async function sendWaiting(): Promise<void> {
    const where = { ca: ca.cert, servername: NAMES.hooks, localAddress: "127.0.0.7" };
    const session = connectHttp2(`https://127.0.0.1:${proxy.https}`, where).on("error", () => undefined);
    sessions.push(session);
    let answered = 0;
    const before = inProgress.size;
    for (let i = 0; i < 100; i++) {
      const request = session.request({ ":path": "/waits", ":authority": NAMES.hooks });
      request.on("response", () => answered++).on("error", () => undefined);
    }
    await until("100 requests are in progress or answered", () => inProgress.size - before + answered >= 100);
  }
  try {
    // The server runs in this process, so it can be too busy to accept a connection. nginx then answers with 503.
    while (inProgress.size < 1_000) await sendWaiting();
    await until("the address is over its share", async () => {
      const answer = await ask(proxy, "hooks", "/hooks/x", { from: "127.0.0.7" });
      return (
        answer?.status === 429 &&
        answer.headers["retry-after"] === "1" &&
        JSON_TYPE.test(answer.headers["content-type"] ?? "")
      );
    });
    expect(await ask(proxy, "hooks", "/hooks/x", { from: "127.0.0.8" })).toMatchObject({ status: 200 });
  } finally {
    for (const session of sessions) session.destroy();
    await proxy.stop();
    echo.closeAllConnections();
    echo.close();
  }
});
