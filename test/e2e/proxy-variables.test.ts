import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { startCliProcess } from "../harness/cli";
import { askApi, signIn, startDashboardEdge } from "../harness/dashboard";
import { startGame } from "../harness/game-chat";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

/** A proxy that closes each connection, and counts the connections. */
let proxy: Server;
let connections = 0;
let environment: Record<string, string>;
const service = sharedService();

beforeAll(async () => {
  proxy = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  environment = { grpc_proxy: url, http_proxy: url, https_proxy: url, HTTP_PROXY: url, HTTPS_PROXY: url };
});
afterEach(() => expect(connections).toBe(0));
afterAll(() => proxy.close());

test("an edge and its dashboard reach core directly even when the environment names a proxy", async () => {
  const { edge, url } = await startDashboardEdge(service.core.port, environment, "listening");
  try {
    const { status } = await askApi(url, "/workspaces", { cookie: await signIn(url) });
    await until("the edge is ready", () =>
      fetch(`http://127.0.0.1:${edge.healthPort}/ready`).then(({ ok }) => ok),
    );
    expect([status, edge.errors]).toEqual([200, ""]);
  } finally {
    await edge.stop();
  }
});

test("the command line reaches core directly even when the environment names a proxy", async () => {
  const run = startCliProcess("workspace list --limit all --json", {
    corePort: service.core.port,
    environment,
  });
  expect(await run.ended).toMatchObject({ code: 0, stderr: "" });
});

test("the demo game reaches core directly even when the environment names a proxy", async () => {
  const game = await startGame(service.core.port, environment);
  await game.stop();
  expect(game.errors).toBe("");
});
