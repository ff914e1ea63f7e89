import { poll, post, send } from "../harness/bridge";
import { dashboardUrlOf, startDashboardEdge } from "../harness/dashboard";
import { openFlood, type Flood } from "../harness/flood";
import { readMetrics, valueOf } from "../harness/metrics";
import type { TestProcess } from "../harness/processes";
import { freshWorkspace, sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const GREEDY = "127.0.0.2";
const OTHER = "127.0.0.3";
const PROXY = "127.0.0.5";
const FLOOD = 300;
const PARTIAL = "GET /hooks/x HTTP/1.1\r\nHost: a\r\nX-Slow: ";

const service = sharedService();
const workspace = freshWorkspace(service);
const floods: Flood[] = [];
let edge: TestProcess;
beforeAll(async () => {
  ({ edge } = await startDashboardEdge(service.core.port, {
    TRUST_PROXY: PROXY,
    CONNECTIONS_MAX: "500",
    ADDRESS_CONNECTIONS_MAX: "20",
  }));
});
afterEach(() => {
  for (const each of floods.splice(0)) each.end();
});
afterAll(() => edge.stop());

async function flood(port: number, from: string, count: number, bytes: string): Promise<Flood> {
  const opened = await openFlood(port, from, count, () => bytes);
  floods.push(opened);
  return opened;
}

const refusedBy = async (bound: string) =>
  valueOf(await readMetrics(edge), "chatbridge_edge_connections_refused_total", `bound="${bound}"`);

test.each([
  ["silent connections", ""],
  ["partial requests", PARTIAL],
])(
  "an address with many %s gets only its share of the edge, and other addresses are still served",
  async (_what, bytes) => {
    const url = `http://127.0.0.1:${edge.port}`;
    const refused = await refusedBy("address");
    const greedy = await flood(edge.port, GREEDY, FLOOD, bytes);
    await until("the connections above the share are closed", () => greedy.closed() >= FLOOD - 20);
    const event = { type: "command", channel: "c1", user: { id: "u1" }, text: "" };
    expect((await post(url, workspace, event, { from: OTHER })).status).toBe(202);
    expect((await poll(url, workspace, "", { from: OTHER })).status).toBe(200);
    expect((await refusedBy("address")) - refused).toBeGreaterThanOrEqual(FLOOD - 20);
    expect(await refusedBy("all")).toBe(0);
  },
);

test("a proxy that TRUST_PROXY lists can open more connections than the share of an address", async () => {
  const refused = await refusedBy("address");
  await flood(edge.port, PROXY, 100, "");
  const url = `http://127.0.0.1:${edge.port}`;
  expect((await poll(url, workspace, "", { from: PROXY })).status).toBe(200);
  expect(await refusedBy("address")).toBe(refused);
});

test.each([
  ["the dashboard", () => Number(new URL(dashboardUrlOf(edge)).port), "/", 250],
  ["the listener for probes", () => edge.healthPort, "/ready", 64],
])(
  "an address with many connections to %s gets only its share, and other addresses are still served",
  async (_what, portOf, path, share) => {
    const greedy = await flood(portOf(), GREEDY, FLOOD, PARTIAL);
    await until("the connections above the share are closed", () => greedy.closed() >= FLOOD - share);
    expect((await send(`http://127.0.0.1:${portOf()}`, path, { from: OTHER })).status).toBe(200);
  },
);
