import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { json } from "node:stream/consumers";
import { ERRORS } from "../../contract/errors";
import { HEADERS_MAX_BYTES } from "../../contract/numbers";
import { errorBody } from "../../edge/public/error-body";
import { findHaproxy } from "../programs/apt";
import { send, type SendOptions } from "../harness/bridge";
import { readComposeFile, ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";
import { NO_CERTIFICATES, PROXY_CONFIG, startHaproxy, type HaproxyOptions } from "../harness/haproxy";
import { ANSWERED, FORWARDED } from "../harness/proxy-cases";
import { exchange, parseAnswers, statusesOf } from "../harness/raw-http";
import { createTestCa } from "../harness/test-ca";
import { until } from "../harness/wait";

// Runs HAProxy with deploy/compose/proxy/haproxy.cfg. The servers behind the proxy are not edges: they are test servers
// that answer each request with the headers that they received.

const NAME = "hooks.example";
const ERRORS_FOLDER = join(ROOT, "deploy/compose/proxy/errors");
const ERROR_FILES = readdirSync(ERRORS_FOLDER);

let haproxy: string;
const edges: Edge[] = [];
const running: { stop(): unknown }[] = [];
const folder = testFolder();

beforeAll(async () => {
  haproxy = await findHaproxy();
  edges.push(await startEdge(), await startEdge());
}, 300_000);
afterEach(() => {
  for (const each of running.splice(0)) each.stop();
});
afterAll(() => {
  for (const { server } of edges) server.close();
});

interface Edge {
  readonly server: Server;
  ready: boolean;
  posts: number;
}

async function startEdge(): Promise<Edge> {
  const edge = { server: createServer({ maxHeaderSize: HEADERS_MAX_BYTES }), ready: true, posts: 0 };
  edge.server.on("request", (asked, answer) => {
    if (asked.url === "/ready") return void answer.writeHead(edge.ready ? 200 : 503).end();
    if (asked.method === "POST") edge.posts++;
    if (asked.url === "/breaks") asked.socket.destroy();
    else answer.end(JSON.stringify(asked.headers));
  });
  edge.server.listen(0, "127.0.0.1");
  await once(edge.server, "listening");
  return edge;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** Starts the proxy in front of the edges. Returns the port for bridges. */
async function startProxy(options: Pick<HaproxyOptions, "certificates" | "trusted"> = {}): Promise<number> {
  const servers = edges.map(({ server }) => ({ port: portOf(server), healthPort: portOf(server) }));
  const proxy = await startHaproxy({ folder, servers: { edge: servers }, ...options });
  running.push(proxy);
  return proxy.portOf(8080);
}

/** Whether the output of `haproxy -v` names a release that is older than `least`. */
function isBefore(output: string, least: readonly number[]): boolean {
  const release = (/version (\d+)\.(\d+)\.(\d+)/.exec(output) ?? []).slice(1).map(Number);
  const at = least.findIndex((part, i) => release[i] !== part);
  return at >= 0 && (release[at] ?? 0) < (least[at] ?? 0);
}

async function headersAt(port: number, options: SendOptions = {}): Promise<IncomingHttpHeaders> {
  return (await send(`http://127.0.0.1:${port}`, "/hooks/x", options)).json as IncomingHttpHeaders;
}

test("HAProxy accepts the configuration without a warning", () => {
  const env = { ...process.env, PROXY_CERTIFICATES: NO_CERTIFICATES, TRUST_PROXY: "10.0.0.0/8 fd00::/8" };
  const checked = spawnSync(haproxy, ["-c", "-f", "deploy/compose/proxy/haproxy.cfg"], {
    cwd: ROOT,
    env,
    encoding: "utf8",
  });
  expect({ status: checked.status, stderr: checked.stderr }).toEqual({ status: 0, stderr: "" });
});

test("the limits of all listeners add up to fewer connections than the process accepts, and the process has enough file descriptors for them", () => {
  const numbersOf = (pattern: RegExp) => [...PROXY_CONFIG.matchAll(pattern)].map(([, max]) => Number(max));
  const [all = 0] = numbersOf(/^ {2}maxconn (\d+)/gm);
  const binds = new Map(
    [...PROXY_CONFIG.matchAll(/^ {2}bind :(\d+) maxconn (\d+)/gm)].map(([, port, max]) => [
      port,
      Number(max),
    ]),
  );
  expect([...binds.keys()]).toEqual([...new Set(numbersOf(/^ {2}bind :(\d+)/gm).map(String))]);
  expect([...binds.values()].reduce((sum, max) => sum + max, 0)).toBeLessThan(all);
  expect(readComposeFile().services["proxy"]?.ulimits?.["nofile"]).toBeGreaterThan(2 * all + 500);
});

test("each error file of the proxy contains the contract's error body", () => {
  const answers = ERROR_FILES.map((name) => {
    const [answer] = parseAnswers(readFileSync(join(ERRORS_FOLDER, name)));
    const { statusCode, message, error } = JSON.parse(answer?.body ?? "") as Record<string, string | number>;
    expect(answer).toMatchObject({
      status: Number(basename(name, ".http")),
      headers: { "content-type": "application/json" },
    });
    expect({ statusCode, message, error }).toEqual({
      ...errorBody({ status: answer?.status ?? 0, message: String(message) }),
      ...(statusCode === 413 && { error: undefined }),
    });
    return [statusCode, message, answer?.headers["retry-after"]];
  });
  const known = new Set<unknown>(Object.values(ERRORS).map(({ message }) => message));
  expect(answers.filter(([, message]) => !known.has(message))).toEqual([]);
  expect(answers.filter(([, , retryAfter]) => retryAfter !== undefined).map(([status]) => status)).toEqual([
    429, 503,
  ]);
  const used = [...PROXY_CONFIG.matchAll(/^ {2}errorfile (\d+) errors\/\1\.http$/gm)].map(
    ([, status]) => `${status}.http`,
  );
  expect(used.toSorted()).toEqual(ERROR_FILES.toSorted());
});

test.each(FORWARDED)("an edge answers a request with %s", async (_what, bytes, status) => {
  const base = `http://127.0.0.1:${await startProxy()}`;
  expect(await statusesOf(base, (socket) => void socket.end(bytes("a")))).toEqual([status]);
});

// time: smoke
test.each(ANSWERED)(
  "the proxy's own answer to a request that %s has the contract's error body",
  async (_what, bytes, status) => {
    const base = `http://127.0.0.1:${await startProxy()}`;
    const { answers } = await exchange(base, bytes("a"));
    // Older releases of HAProxy cannot replace these built-in answers, and answer 400 instead of 431.
    if (isBefore(spawnSync(haproxy, ["-v"], { encoding: "utf8" }).stdout, [3, 2, 8])) {
      expect(answers).toMatchObject([{ status: status === 431 ? 400 : status }]);
      return;
    }
    expect(answers).toMatchObject([{ status, headers: { "content-type": "application/json" } }]);
    expect(JSON.parse(answers[0]?.body ?? "")).toMatchObject({ statusCode: status });
  },
);

test("an edge sees the real address of each client, not an address that the client claims", async () => {
  const port = await startProxy();
  const headers = {
    "x-forwarded-for": "203.0.113.9",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "evil",
  };
  for (const from of ["127.0.0.7", "127.0.0.8"]) {
    const seen = await headersAt(port, { headers, from });
    expect(seen).toMatchObject({ "x-forwarded-for": from, "x-forwarded-proto": "http" });
    expect(seen).not.toHaveProperty("x-forwarded-host");
  }
});

test("behind a proxy that TRUST_PROXY lists, an edge sees the last address that this proxy forwards", async () => {
  const port = await startProxy({ trusted: "127.0.0.7 10.0.0.0/8" });
  const headers = { "x-forwarded-for": "198.51.100.1, 203.0.113.9", "x-forwarded-proto": "https" };
  const trusted = await headersAt(port, { headers, from: "127.0.0.7" });
  expect(trusted).toMatchObject({ "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https" });
  const other = await headersAt(port, { headers, from: "127.0.0.8" });
  expect(other).toMatchObject({ "x-forwarded-for": "127.0.0.8", "x-forwarded-proto": "http" });
});

test("with certificates, the proxy serves HTTPS, and tells the edge so in a header", async () => {
  const certificates = join(folder, "certificates");
  mkdirSync(certificates);
  const ca = createTestCa();
  const { cert, key } = ca.issue([NAME]);
  ca.close();
  writeFileSync(join(certificates, `${NAME}.pem`), `${cert.toString()}${key.toString()}`);
  const port = await startProxy({ certificates });
  const asked = request({ host: "127.0.0.1", port, servername: NAME, ca: ca.cert, agent: false }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  expect(await json(answer)).toMatchObject({ "x-forwarded-proto": "https" });
});

test("an edge that is not ready gets no requests, and without a ready edge the answer is 503 with Retry-After", async () => {
  const port = await startProxy();
  const [first, second] = edges as [Edge, Edge];
  const answers = async () => (await send(`http://127.0.0.1:${port}`, "/hooks/x", { method: "POST" })).status;
  first.ready = false;
  await until("only the second edge gets requests", async () => {
    const before = first.posts;
    for (let sent = 0; sent < 4; sent++) expect(await answers()).toBe(200);
    return first.posts === before;
  });
  second.ready = false;
  await until("no edge gets requests", async () => (await answers()) === 503);
  const { headers, json: body } = await send(`http://127.0.0.1:${port}`, "/hooks/x");
  expect(headers).toMatchObject({ "retry-after": "1", "content-type": "application/json" });
  expect(body).toMatchObject({ statusCode: 503, error: "Service Unavailable" });
  first.ready = second.ready = true;
});

test("if an edge breaks the connection during a POST, the proxy does not repeat the POST", async () => {
  const port = await startProxy();
  const posts = (): number => edges.reduce((sum, edge) => sum + edge.posts, 0);
  const before = posts();
  const { status } = await send(`http://127.0.0.1:${port}`, "/breaks", { method: "POST", body: "{}" });
  expect({ status, posts: posts() - before }).toEqual({ status: 502, posts: 1 });
});
