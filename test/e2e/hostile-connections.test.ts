import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { post } from "../harness/bridge";
import { readMetrics, valueOf } from "../harness/metrics";
import { expectQuiet } from "../harness/output";
import { exchange, rawRequest } from "../harness/raw-http";
import { createWorkspace, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const service = sharedService();
let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await createWorkspace(service.clients);
});

const EVENT = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":""}';

async function expectServed(): Promise<void> {
  expect((await post(service.url, workspace, EVENT)).status).toBe(202);
  expectQuiet([service.core, service.edge], [workspace.secret]);
}

test("whoever asks for a tunnel and resets the connection does no harm", async () => {
  const asks = (): Promise<unknown> =>
    exchange(service.url, (socket) => {
      socket.write("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", () => socket.resetAndDestroy());
    });
  for (let i = 0; i < 40; i++) await Promise.all(Array.from({ length: 25 }, asks));
  await expectServed();
}, 60_000);

test("however long paths and headers are, those of one address do not break the lanes of the others", async () => {
  // As large as a head may be, and twice that in UTF-8.
  const head = rawRequest("POST", "/hooks/x", { "Service-Signature": "SIGNATURE" }, "{}").toString("latin1");
  const bytes = Buffer.from(head.replace("SIGNATURE", "\u00e9".repeat(15_500)), "latin1");
  const { hostname, port } = new URL(service.url);
  const sockets: Socket[] = await Promise.all(
    Array.from({ length: 700 }, async () => {
      const socket = connect({ host: hostname, port: Number(port), localAddress: "127.0.0.9" });
      socket.on("error", () => undefined);
      await once(socket, "connect");
      return socket;
    }),
  );
  const answered = sockets.map(async (socket) => {
    const [first] = (await once(socket, "data")) as [Buffer];
    return Number(first.subarray(9, 12).toString());
  });
  // All arrive at once.
  for (const socket of sockets) socket.write(bytes);
  const statuses = await Promise.all(answered);
  for (const socket of sockets) socket.destroy();
  // How many the limit of the address refuses depends on how long they take.
  expect(statuses).toContain(404);
  expect(statuses.filter((status) => status !== 404 && status !== 429)).toEqual([]);
  const metrics = await readMetrics(service.edge);
  // None of them was ever lost.
  expect(valueOf(metrics, "chatbridge_edge_lanes_opened_total")).toBe(
    valueOf(metrics, "chatbridge_edge_lanes"),
  );
  await expectServed();
}, 60_000);
