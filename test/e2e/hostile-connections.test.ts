import { credentials } from "@grpc/grpc-js";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import {
  BridgeServiceClient,
  BridgeServiceService,
  LaneFault,
  LaneRequest,
  PollRequest,
  ReceiveRequest,
  type LaneAnswer,
  type LaneCall,
  type PollQuery,
} from "../../proto/gen/chatbridge/v1/bridge";
import { poll, post, signatureOf } from "../harness/bridge";
import { bearer } from "../../runtime/core-channel";
import { startDashboardEdge } from "../harness/dashboard";
import { readMetrics, valueOf } from "../harness/metrics";
import { expectQuiet } from "../harness/output";
import { TOKENS } from "../harness/processes";
import { exchange, rawRequest, statusesOf } from "../harness/raw-http";
import { publish, textEvent, type TestWorkspace } from "../harness/service";
import { freshWorkspace, sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

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
  ["before the answer", () => whole(), 20],
  ["after a CONNECT request", () => "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 250],
])("the edge keeps serving after a client hangs up %s", async (_when, bytes, senders = 1) => {
  const resets = Array.from({ length: senders }, () =>
    exchange(service.url, (socket) => {
      socket.write(bytes(), () => socket.resetAndDestroy());
    }),
  );
  await Promise.all([...resets, exchange(service.url, (socket) => socket.end(bytes()))]);
});

const whole = () => `${head(`Content-Length: ${EVENT.length}`)}${EVENT}`;
const pollOf = ({ id, secret }: TestWorkspace) =>
  rawRequest("GET", `/hooks/${id}/events`, { "Service-Signature": signatureOf(secret, "") }).toString();

test.each<[string, () => string, readonly number[]]>([
  ["a POST", whole, [202]],
  ["a poll", () => pollOf(workspace), [200]],
  ["several requests", () => whole() + pollOf(workspace) + whole(), [202, 200, 202]],
  ["a part of a request", () => whole().slice(0, -1), [400]],
])("a client that half-closes its connection after %s is answered", async (_what, bytes, statuses) => {
  expect(await statusesOf(service.url, (socket) => void socket.end(bytes()))).toEqual(statuses);
});

// The limits of unsent pages for one address, and for all bridges together, are tested in
// test/unit/unsent-pages.test.ts.
test("a bridge that polls without reading the pages exhausts the limit of unsent pages only for its own workspace", async () => {
  const [greedy, other] = [await service.workspaces.make(), await service.workspaces.make()];
  // A page of these events has almost the maximum size. The limit of a workspace allows five such pages.
  const text = "x".repeat(65_000);
  for (const { id } of [greedy, other])
    await publish(service.clients, ...Array.from({ length: 100 }, () => textEvent(id, text)));
  const { hostname: host, port } = new URL(service.url);
  const unread: Socket[] = [];
  try {
    // Polls without reading the pages, until a further poll is answered with 503.
    await until("the workspace's limit is reached", async () => {
      const socket = connect({ host, port: Number(port), localAddress: "127.0.0.8" }).pause();
      unread.push(socket.on("error", () => undefined));
      socket.write(pollOf(greedy).repeat(3));
      const { status, headers } = await poll(service.url, greedy);
      expect([200, 503]).toContain(status);
      return status === 503 && headers["retry-after"] === "1";
    });
    expect((await poll(service.url, other, "", { from: "127.0.0.8" })).status).toBe(200);
    const unsent = valueOf(await readMetrics(service.edge), "chatbridge_edge_unsent_page_bytes");
    expect(unsent).toBeLessThanOrEqual(64 * 1_048_576);
  } finally {
    for (const socket of unread) socket.destroy();
  }
  await until("a poll is answered again", async () => (await poll(service.url, greedy)).status === 200);
});

// time: smoke
test("every listener closes a connection that sends nothing, or an incomplete request", async () => {
  const { edge, url } = await startDashboardEdge(service.core.port);
  const probes = [edge, service.core].map(({ healthPort }) => `http://127.0.0.1:${healthPort}`);
  const urls = [service.url, url, `http://127.0.0.1:${service.core.port}`, ...probes];
  const says = ["", "GET /live HTTP/1.1\r\nHost: a\r\nX-Slow: "];
  const silent = urls.flatMap((to) => says.map((text) => exchange(to, text)));
  // Node's default timeouts are half a minute or longer, so they cannot close these connections within 25 seconds.
  const ended = Promise.all(silent).then(() => true);
  expect(await Promise.race([ended, setTimeout(25_000, false, { ref: false })])).toBe(true);
  await edge.stop();
});

test("many requests from one address, with heads of the maximum size, do not break the lanes that all addresses share", async () => {
  // When a lane breaks, its calls fail. (An edge also replaces its lanes twice a minute, but then no call fails.)
  const failedCalls = async () =>
    valueOf(await readMetrics(service.edge), "chatbridge_edge_lane_failures_total", 'reason="broken"');
  const failedBefore = await failedCalls();
  // A request head that is almost as large as allowed (16 KB). Each character of the signature takes one byte here, but
  // two bytes when the edge sends it to core in UTF-8.
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
  // Sends all requests at the same time.
  for (const socket of sockets) socket.write(bytes);
  const statuses = await Promise.all(answered);
  for (const socket of sockets) socket.destroy();
  // How many of the requests exceed the address's limit depends on timing.
  expect(statuses).toContain(404);
  expect(statuses.filter((status) => status !== 404 && status !== 429)).toEqual([]);
  expect(await failedCalls()).toBe(failedBefore);
});

/**
 * Bytes that games cannot decode as an `InboundEvent`: truncated fields, invalid UTF-8 and invalid tags.
 */
const NO_EVENTS = ["0a05", "0a01ff", "12050a01", "12040a02c328", "22", "220708", "00"].map((hex) =>
  Buffer.from(hex, "hex"),
);

/** Returns a `LaneRequest` with one `Receive` call, whose event has exactly these bytes. */
function receiveOf(number: number, event: Buffer): Uint8Array {
  const nested = (field: number, bytes: Uint8Array) =>
    new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(bytes).finish();
  const call = new BinaryWriter().tag(1, WireType.Varint).uint32(number).finish();
  return nested(1, Buffer.concat([call, nested(2, nested(5, event))]));
}

test("each invalid call on a lane is answered with its own error, and core does not log it", async () => {
  const client = new BridgeServiceClient(`127.0.0.1:${service.core.port}`, credentials.createInsecure());
  const { path, responseDeserialize } = BridgeServiceService.lane;
  const same = (bytes: Buffer): Buffer => bytes;
  const lane = client
    .makeBidiStreamRequest(path, same, responseDeserialize, bearer(TOKENS.edge))
    .on("error", () => undefined);
  const answers: LaneAnswer[] = [];
  lane.on("data", (response: { answers: LaneAnswer[] }) => answers.push(...response.answers));
  const pollOf = (query: PollQuery): LaneCall["call"] => ({
    $case: "poll",
    value: PollRequest.create({ reading: { $case: "query", value: query } }),
  });
  const wrong: LaneCall["call"][] = [
    undefined,
    { $case: "receive", value: ReceiveRequest.create() },
    { $case: "poll", value: PollRequest.create() },
    pollOf({ from: undefined, limit: 0 }),
    pollOf({ from: undefined, limit: 101 }),
    pollOf({ from: { $case: "after", value: "x" }, limit: 1 }),
  ];
  const calls = wrong.map((call, number) => ({ number, call, traceparent: "" }));
  const events = NO_EVENTS.map((event, i) => receiveOf(wrong.length + i, event));
  lane.write(Buffer.concat([LaneRequest.encode({ calls }).finish(), ...events]));
  const all = wrong.length + events.length;
  await until("all calls are answered", () => answers.length >= all);
  expect(answers.toSorted((a, b) => a.number - b.number)).toEqual(
    Array.from({ length: all }, (_, number) => ({
      number,
      answer: { $case: "fault", value: LaneFault.INVALID },
    })),
  );
  lane.cancel();
  client.close();
});
