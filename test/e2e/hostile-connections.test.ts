import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { post, signatureOf } from "../harness/bridge";
import { startDashboardEdge } from "../harness/dashboard";
import { readMetrics, valueOf } from "../harness/metrics";
import { expectQuiet } from "../harness/output";
import { exchange, rawRequest } from "../harness/raw-http";
import { freshWorkspace, sharedService } from "../harness/shared-service";

const service = sharedService();
const workspace = freshWorkspace(service);

const EVENT = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":""}';
const CHUNKED = "Transfer-Encoding: chunked";

const path = () => `/hooks/${workspace.id}`;
const signature = () => signatureOf(workspace.secret, EVENT);
const head = (framing: string) =>
  `POST ${path()} HTTP/1.1\r\nHost: a\r\nService-Signature: ${signature()}\r\n${framing}\r\n\r\n`;

afterEach(async () => {
  expect((await post(service.url, workspace, EVENT)).status).toBe(202);
  expectQuiet([service.core, service.edge], [workspace.secret, "v1="]);
});

test.each<[string, () => string, number?]>([
  ["in the middle of a body", () => head("Content-Length: 500") + EVENT],
  ["in the middle of a chunk", () => `${head(CHUNKED)}ff\r\n{`],
  ["in the middle of a head", () => `POST ${path()} HTTP/1.1\r\nHost: a\r\nService-`],
  ["after the method", () => "POST"],
  ["before the answer", () => `${head(`Content-Length: ${EVENT.length}`)}${EVENT}`, 20],
  ["after asking for a tunnel", () => "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 250],
])("a sender that hangs up %s does no harm", async (_when, bytes, senders = 1) => {
  const resets = Array.from({ length: senders }, () =>
    exchange(service.url, (socket) => {
      socket.write(bytes(), () => socket.resetAndDestroy());
    }),
  );
  await Promise.all([...resets, exchange(service.url, (socket) => socket.end(bytes()))]);
});

// time: smoke
test("a connection that says nothing, or says it slowly, is ended by every listener", async () => {
  const { edge, url } = await startDashboardEdge(service.core.port);
  const probes = [edge, service.core].map(({ healthPort }) => `http://127.0.0.1:${healthPort}`);
  const urls = [service.url, url, ...probes];
  const says = ["", "GET /live HTTP/1.1\r\nHost: a\r\nX-Slow: "];
  const silent = urls.flatMap((to) => says.map((text) => exchange(to, text)));
  // What Node does by itself takes half a minute or more.
  const ended = Promise.all(silent).then(() => true);
  expect(await Promise.race([ended, setTimeout(25_000, false, { ref: false })])).toBe(true);
  await edge.stop();
});

test("headers of the largest size from one address break no lane of the others", async () => {
  const brokenLanes = async () => {
    const metrics = await readMetrics(service.edge);
    return valueOf(metrics, "chatbridge_edge_lanes_opened_total") - valueOf(metrics, "chatbridge_edge_lanes");
  };
  const brokenBefore = await brokenLanes();
  // As large as a head may be, and twice that in UTF-8.
  const request = rawRequest("POST", "/hooks/x", { "Service-Signature": "SIGNATURE" }, "{}").toString(
    "latin1",
  );
  const bytes = Buffer.from(request.replace("SIGNATURE", "\u00e9".repeat(15_500)), "latin1");
  const { hostname, port } = new URL(service.url);
  const sockets = await Promise.all(
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
  expect(await brokenLanes()).toBe(brokenBefore);
});
