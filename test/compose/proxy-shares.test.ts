import { createServer, type IncomingMessage } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { poll, post, send } from "../harness/bridge";
import { connectToCore } from "../harness/core-clients";
import { dashboardUrlOf } from "../harness/dashboard";
import { forwardFrom, openFlood, type Flood } from "../harness/flood";
import { testFolder } from "../harness/folder";
import { useFollowers } from "../harness/followers";
import { startHaproxy } from "../harness/haproxy";
import { rawRequest } from "../harness/raw-http";
import { startService, type TestService } from "../harness/service";
import { until } from "../harness/wait";

// Runs HAProxy with deploy/compose/proxy/haproxy.cfg in front of the whole service. While one address opens more
// connections than the proxy accepts, another address uses the service.

const GREEDY = "127.0.0.2";
const OTHER = "127.0.0.3";
const FLOOD = 4_100;
const KEPT_OPEN = rawRequest("GET", "/hooks/x").toString();
const PARTIAL = "GET /hooks/x HTTP/1.1\r\nHost: a\r\nX-Slow: ";

const folder = testFolder();
const followers = useFollowers();

describe("while one address floods the proxy", () => {
  let service: TestService;
  let proxy: Awaited<ReturnType<typeof startHaproxy>>;
  let games: Awaited<ReturnType<typeof forwardFrom>>;
  let clients: ReturnType<typeof connectToCore>;
  beforeAll(async () => {
    service = await startService({ edge: { TRUST_PROXY: "127.0.0.1", DASHBOARD_LISTEN: "127.0.0.1:0" } });
    const { core, edge } = service;
    const dashboard = { port: Number(new URL(dashboardUrlOf(edge)).port), healthPort: edge.healthPort };
    proxy = await startHaproxy({ folder, servers: { core: [core], edge: [edge], dashboard: [dashboard] } });
    games = await forwardFrom(OTHER, proxy.portOf(50051));
    clients = connectToCore(games.port);
  }, 120_000);
  afterAll(async () => {
    clients?.close();
    games?.close();
    proxy?.stop();
    await service?.close();
  });

  /** Sends requests to each listener of the proxy from `OTHER`, an address that does not take part in the flood. */
  async function useService(): Promise<void> {
    const url = `http://127.0.0.1:${proxy.portOf(8080)}`;
    const workspace = await service.workspaces.make();
    const follower = await followers.start(clients, { group: followers.newGroup() }).opened();
    const event = { type: "command", channel: "c1", user: { id: "u1" }, text: "hello" };
    expect((await post(url, workspace, event, { from: OTHER })).status).toBe(202);
    expect(await follower.sees(1)).toMatchObject([{ workspaceId: workspace.id }]);
    expect((await poll(url, workspace, "", { from: OTHER })).status).toBe(200);
    const dashboard = await send(`http://127.0.0.1:${proxy.portOf(8082)}`, "/", { from: OTHER });
    expect(dashboard.status).toBe(200);
    const status = await send(`http://127.0.0.1:${proxy.portOf(8081)}`, "/ready");
    expect(status.body.toString()).toBe("edge 1 core 1 dashboard 1");
    follower.cancel();
  }

  test.each<[string, number, string, number]>([
    ["with answered requests on connections that stay open, to the edges", 8080, KEPT_OPEN, 1_000],
    ["with partial requests, to the edges", 8080, PARTIAL, 1_000],
    ["with partial requests, to the dashboard", 8082, PARTIAL, 250],
    ["with silent connections, to the cores", 50051, "", 250],
    ["with silent connections, to the status", 8081, "", 50],
  ])("another address is served: %s", async (_how, port, bytes, share) => {
    const flooding = openFlood(proxy.portOf(port), GREEDY, FLOOD, () => bytes);
    await useService();
    const flood = await flooding;
    try {
      await until("the connections above the share are closed", () => flood.closed() >= FLOOD - share);
      await useService();
    } finally {
      flood.end();
    }
  });

  // time: smoke
  test("connections that send nothing, or only a part of a request, are closed", async () => {
    const floods = await Promise.all(
      [
        [8080, ""],
        [8080, PARTIAL],
        [8082, ""],
        [50051, ""],
        [8081, ""],
      ].map(([port, bytes]) => openFlood(proxy.portOf(Number(port)), GREEDY, 1, () => String(bytes))),
    );
    await until("all connections are closed", () => floods.every((flood) => flood.closed() === 1));
  });
});

describe("behind a proxy that TRUST_PROXY lists", () => {
  const FRONT = "127.0.0.7";
  /** The pending requests for /waits: the server never answers requests for this path. */
  const inProgress = new Set<IncomingMessage>();
  const waiting = createServer((asked: IncomingMessage, answer) => {
    if (asked.url !== "/waits") return answer.end();
    inProgress.add(asked);
    answer.on("close", () => inProgress.delete(asked));
  });
  let proxy: Awaited<ReturnType<typeof startHaproxy>>;
  beforeAll(async () => {
    waiting.listen(0, "127.0.0.1");
    await once(waiting, "listening");
    const { port } = waiting.address() as AddressInfo;
    proxy = await startHaproxy({ folder, servers: { edge: [{ port, healthPort: port }] }, trusted: FRONT });
  });
  afterAll(() => {
    proxy?.stop();
    waiting.closeAllConnections();
    waiting.close();
  });

  test.each<[string, (i: number) => string, string]>([
    ["an IPv4 address", () => "192.0.2.1", "192.0.2.2"],
    ["an IPv4 address in IPv6 form", () => "::ffff:192.0.2.3", "::ffff:192.0.2.4"],
    ["an IPv6 network", (i) => `2001:db8:0:1::${i.toString(16)}`, "2001:db8:0:2::1"],
  ])("only %s with 1,000 requests in progress gets 429", async (_what, client, other) => {
    const answerTo = (address: string) =>
      send(`http://127.0.0.1:${proxy.portOf(8080)}`, "/", {
        headers: { "X-Forwarded-For": address },
        from: FRONT,
      });
    const isServed = async () => (await answerTo(other)).status === 200;
    await until("the proxy uses the edge", isServed);
    const floods: Flood[] = [];
    try {
      // The server behind the proxy runs in this process, so it can briefly be too busy to answer. The proxy then
      // answers with 503.
      while (inProgress.size < 1_000) {
        const [before, missing] = [inProgress.size, 1_100 - inProgress.size];
        const flood = await openFlood(proxy.portOf(8080), FRONT, missing, (i) =>
          rawRequest("POST", "/waits", { "X-Forwarded-For": client(i) }),
        );
        floods.push(flood);
        const arrived = (): number => inProgress.size - before + flood.answered() + flood.closed();
        await until("all requests are in progress or answered", () => arrived() >= missing);
      }
      await until("the client is over its share", async () => (await answerTo(client(1_001))).status === 429);
      const { headers, json } = await answerTo(client(1_001));
      expect(headers).toMatchObject({ "retry-after": "1", "content-type": "application/json" });
      expect(json).toMatchObject({ statusCode: 429, error: "Too Many Requests" });
      await until("another client is served", isServed);
    } finally {
      for (const flood of floods) flood.end();
      // The proxy waits for the answer of an edge, even if the client has disconnected.
      waiting.closeAllConnections();
      await until("no request is in progress", () => inProgress.size === 0);
    }
  });
});
