import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { findHaproxy } from "../programs/apt";
import { send, type SendOptions } from "../harness/bridge";
import { ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";
import { freePort } from "../harness/processes";
import { createTestCa } from "../harness/test-ca";
import { until } from "../harness/wait";

// Runs HAProxy with compose/proxy/haproxy.cfg. Two servers that answer with the headers of each request are the edges.

const CONFIG = readFileSync(join(ROOT, "compose/proxy/haproxy.cfg"), "utf8");
const NO_CERTIFICATES = "./compose/proxy";
const NAME = "hooks.example";

let haproxy: string;
const edges: Edge[] = [];
const running: ChildProcess[] = [];
const folder = testFolder();

beforeAll(async () => {
  haproxy = await findHaproxy();
  edges.push(await startEdge(), await startEdge());
}, 300_000);
afterEach(() => {
  for (const each of running.splice(0)) each.kill("SIGKILL");
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
  const edge = { server: createServer(), ready: true, posts: 0 };
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

/** Starts the proxy on a free port. `certificates` is a folder, and `trusted` is the value of TRUST_PROXY. */
async function startProxy({ certificates = NO_CERTIFICATES, trusted = "" } = {}): Promise<number> {
  const ports: Record<string, number> = {};
  for (const each of ["8080", "8081", "8082", "8088", "50051"]) ports[each] = await freePort();
  const servers = edges.map(
    ({ server }, at) => `server s${at} 127.0.0.1:${portOf(server)} port ${portOf(server)}`,
  );
  const config = CONFIG.replaceAll(
    /bind :(\d+)/g,
    (_all, port: string) => `bind 127.0.0.1:${ports[port] ?? 0}`,
  )
    .replaceAll("/certificates/", `${certificates}/`)
    .replace(/^ *server-template edge .*$/m, servers.join("\n  "));
  const file = join(folder, `${ports["8080"]}.cfg`);
  writeFileSync(file, config);
  const env = { ...process.env, PROXY_CERTIFICATES: certificates, TRUST_PROXY: trusted };
  running.push(spawn(haproxy, ["-db", "-f", file], { env, stdio: "ignore" }));
  const status = (): Promise<boolean> =>
    send(`http://127.0.0.1:${ports["8081"]}`, "/ready").then(
      ({ body }) => body.toString("utf8") === "edge 2 core 0 dashboard 0",
      () => false,
    );
  await until("the proxy uses both edges", status);
  return ports["8080"] ?? 0;
}

async function headersAt(port: number, options: SendOptions = {}): Promise<IncomingHttpHeaders> {
  return (await send(`http://127.0.0.1:${port}`, "/hooks/x", options)).json as IncomingHttpHeaders;
}

test("HAProxy accepts the configuration without a warning", () => {
  const env = { ...process.env, PROXY_CERTIFICATES: NO_CERTIFICATES, TRUST_PROXY: "10.0.0.0/8 fd00::/8" };
  const checked = spawnSync(haproxy, ["-c", "-f", "compose/proxy/haproxy.cfg"], {
    cwd: ROOT,
    env,
    encoding: "utf8",
  });
  expect({ status: checked.status, stderr: checked.stderr }).toEqual({ status: 0, stderr: "" });
});

test("an edge sees the address of each client, and not what the client says about itself", async () => {
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

test("behind a proxy of TRUST_PROXY, an edge sees the last address that this proxy forwards", async () => {
  const port = await startProxy({ trusted: "127.0.0.7 10.0.0.0/8" });
  const headers = { "x-forwarded-for": "198.51.100.1, 203.0.113.9", "x-forwarded-proto": "https" };
  const trusted = await headersAt(port, { headers, from: "127.0.0.7" });
  expect(trusted).toMatchObject({ "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https" });
  const other = await headersAt(port, { headers, from: "127.0.0.8" });
  expect(other).toMatchObject({ "x-forwarded-for": "127.0.0.8", "x-forwarded-proto": "http" });
});

test("with certificates, the proxy serves HTTPS, and the edge learns so", async () => {
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

test("a POST whose edge breaks the connection is not repeated by the proxy", async () => {
  const port = await startProxy();
  const posts = (): number => edges.reduce((sum, edge) => sum + edge.posts, 0);
  const before = posts();
  const { status } = await send(`http://127.0.0.1:${port}`, "/breaks", { method: "POST", body: "{}" });
  expect({ status, posts: posts() - before }).toEqual({ status: 502, posts: 1 });
});
