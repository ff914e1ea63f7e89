import { PublishEventsRequest, OutboundEvent } from "../../proto/gen/chatbridge/v1/game";
import { bearer } from "../../runtime/core-channel";
import { status } from "../harness/behaviours";
import { post } from "../harness/bridge";
import { startCollector, type CollectedSpan, type Collector } from "../harness/collector";
import { startConsumer } from "../harness/consumer";
import { startEdge, TOKENS, type TestProcess } from "../harness/processes";
import { startPushService, type OwnPushService } from "../harness/push";
import { textEvent } from "../harness/service";
import { until } from "../harness/wait";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const SAMPLED = `00-${TRACE}-${PARENT}-01`;
const MESSAGE = {
  type: "message",
  channel: "c1",
  user: { id: "u1", name: "Ada Lovelace" },
  text: "my secret text",
};

let collector: Collector;
let push: OwnPushService;
let edge: TestProcess;
let url: string;
let bridge: Awaited<ReturnType<OwnPushService["bridge"]>>;
beforeAll(async () => {
  collector = await startCollector();
  push = await startPushService(() => collector.environment);
  edge = await startEdge(push.service.core.port, collector.environment);
  url = `http://127.0.0.1:${edge.port}`;
  bridge = await push.bridge();
});
afterAll(async () => {
  await edge.stop();
  await push.close();
  await collector.close();
});

const workspace = () => ({ id: bridge.workspaceId, secret: bridge.secret });
const say = (text: string, headers: Record<string, string> = {}) =>
  post(url, workspace(), { ...MESSAGE, id: `id ${text}`, text }, { headers });

/** Publishes an event as a game that uses tracing does. */
function publish(
  text: string,
  metadata: string,
  traceparent = "",
  { games, workspaceId } = { games: push.service.clients.games, workspaceId: bridge.workspaceId },
): Promise<unknown> {
  const event = OutboundEvent.create({ ...textEvent(workspaceId, text), traceparent });
  const sent = bearer(TOKENS.game);
  sent.set("traceparent", metadata);
  return new Promise((resolve, reject) => {
    games.publishEvents(PublishEventsRequest.create({ events: [event] }), sent, (error, answer) =>
      error ? reject(error) : resolve(answer),
    );
  });
}

/** Waits until the bridge has received a push with this text. Returns the header `traceparent` of each attempt. */
function pushed(text: string, attempts = 1): Promise<readonly unknown[]> {
  return until(`${attempts} pushes of ${text}`, () => {
    const found = bridge.requests.filter(({ body }) => body.includes(`"text":"${text}"`));
    return found.length >= attempts && found.map(({ headers }) => headers["traceparent"]);
  });
}

const contextOf = ({ traceId, spanId }: CollectedSpan): string => `00-${traceId}-${spanId}-01`;

// time: smoke
test("one trace covers a bridge's POST, core, a game and the push", async () => {
  const consumer = await startConsumer(push.service.clients.games, { group: "traced" }).opened();
  expect((await say("a question", { traceparent: SAMPLED })).status).toBe(202);
  const [delivered] = await consumer.sees(1);
  if (delivered === undefined) throw new Error("nothing was delivered");
  await publish("an answer", delivered.traceparent);
  consumer.ack(delivered);
  const [header] = await pushed("an answer");

  const received = await collector.span("POST /hooks/{workspaceId}");
  const appended = await collector.span("append");
  const delivery = await collector.span("deliver", { "chatbridge.result": "acked" });
  const published = await collector.span("PublishEvents");
  const attempt = await collector.span("push");
  const chain = [received, appended, delivery, published, attempt];
  expect(chain.map(({ parentId }) => parentId)).toEqual([
    PARENT,
    ...chain.slice(0, -1).map(({ spanId }) => spanId),
  ]);
  expect(chain.map(({ traceId }) => traceId)).toEqual(chain.map(() => TRACE));
  expect(chain.map(({ service }) => service)).toEqual([
    "chat-bridge-edge",
    ...chain.slice(1).map(() => "chat-bridge-core"),
  ]);
  expect(delivered.traceparent).toBe(contextOf(delivery));
  expect(header).toBe(contextOf(attempt));
  expect(attempt.attributes).toMatchObject({
    "server.address": bridge.name,
    "http.response.status_code": 204,
    "chatbridge.attempt": 1,
    "chatbridge.workspace.id": bridge.workspaceId,
  });
  const exported = JSON.stringify([collector.spans, push.service.core.log, edge.log]);
  for (const secret of ["a question", "an answer", "Ada Lovelace", "channel-1", bridge.secret, "/events"]) {
    expect(exported.replaceAll("/hooks/{workspaceId}/events", "")).not.toContain(secret);
  }
  consumer.cancel();
});

// time: ordering
test("requests that the edge sends to core in one message keep their own traces", async () => {
  const consumer = await startConsumer(push.service.clients.games, { group: "batched" }).opened();
  const traces = Array.from({ length: 20 }, (_, i) => `${TRACE.slice(0, -2)}${String(i + 10)}`);
  await Promise.all(traces.map((trace) => say(trace, { traceparent: `00-${trace}-${PARENT}-01` })));
  const seen = await consumer.sees(traces.length);
  for (const { text, traceparent } of seen) expect(traceparent).toContain(text);
  consumer.cancel();
});

// time: smoke
test("each attempt of a push has its own span, and a failed attempt is marked", async () => {
  bridge.behave(({ attempt }) => status(attempt === 1 ? 500 : 204));
  await publish("retried", SAMPLED);
  const headers = await pushed("retried", 2);
  const failed = await collector.span("push", { "chatbridge.attempt": 1, "http.response.status_code": 500 });
  const repeated = await collector.span("push", {
    "chatbridge.attempt": 2,
    "http.response.status_code": 204,
  });
  bridge.behave(() => status(204));
  expect(headers).toEqual([contextOf(failed), contextOf(repeated)]);
  expect(failed.parentId).toBe(repeated.parentId);
  expect([failed.isFault, repeated.isFault]).toEqual([true, false]);
  expect(failed.attributes["error.type"]).toBe("status");
});

test("the traceparent of an event takes precedence over the traceparent of its call", async () => {
  const own = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  await publish("own trace", SAMPLED, `00-${own}-${PARENT}-01`);
  expect(await pushed("own trace")).toEqual([
    expect.stringMatching(new RegExp(`^00-${own}-[0-9a-f]{16}-01$`)),
  ]);
});

test("if a game does not sample its trace, core does not export any span, and the push has no traceparent header", async () => {
  await publish("not sampled", `00-${TRACE}-${PARENT}-00`);
  expect(await pushed("not sampled")).toEqual([undefined]);
});

test.each([
  ["empty", ""],
  ["a word", "x"],
  ["a trace id of zeros", `00-${"0".repeat(32)}-${PARENT}-01`],
  ["a span id of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
  ["the version ff", `ff-${TRACE}-${PARENT}-01`],
  ["too many parts", `00-${TRACE}-${PARENT}-01-more`],
  ["upper case", `00-${TRACE.toUpperCase()}-${PARENT}-01`],
  ["4,000 digits", "0".repeat(4_000)],
])("an invalid traceparent is ignored, and a new trace starts: %s", async (name, traceparent) => {
  const before = collector.spans.length;
  expect((await say(`invalid: ${name}`, { traceparent })).status).toBe(202);
  const span = await until("the span has arrived", () =>
    collector.spans.slice(before).find(({ name }) => name.startsWith("POST")),
  );
  expect(span.parentId).toBe("");
  expect(span.traceId).not.toBe(TRACE);
});

test("a request without a valid signature is not exported, even if its traceparent says that it is sampled", async () => {
  const forged = "badbadbadbadbadbadbadbadbadbadba";
  const headers = { traceparent: `00-${forged}-${PARENT}-01` };
  const wrong = { id: bridge.workspaceId, secret: "wrong" };
  expect((await post(url, wrong, { ...MESSAGE, id: "forged" }, { headers })).status).toBe(401);
  const invalid = { type: "message", id: "signed" };
  expect((await post(url, workspace(), invalid, { headers: { traceparent: SAMPLED } })).status).toBe(400);
  // The spans of one process are exported in order, so the forged request would have been exported before the span of
  // this request.
  await collector.span("POST /hooks/{workspaceId}", { "http.response.status_code": 400 });
  await collector.span("append", { "chatbridge.result": "invalid" });
  expect(collector.spans.map(({ traceId }) => traceId)).not.toContain(forged);
});

// time: ordering
test("requests are answered while the collector fails, and the log reports the failure once", async () => {
  collector.answerWith(400);
  const before = collector.requests.length;
  for (let i = 0; i < 5; i++) {
    expect((await say(`no collector ${i}`)).status).toBe(202);
    await until("a further export has failed", () => collector.requests.length > before + i);
  }
  collector.answerWith(200);
  const warnings = edge.log.filter(({ msg }) => String(msg).startsWith("spans could not be exported"));
  expect(warnings).toHaveLength(1);
});

// time: ordering
test("a stopping process exports the spans that have ended", async () => {
  const environment = {
    ...collector.environment,
    OTEL_BSP_SCHEDULE_DELAY: "600000",
    OTEL_SERVICE_NAME: "stopped",
  };
  const stopped = await startEdge(push.service.core.port, environment);
  expect(
    (await post(`http://127.0.0.1:${stopped.port}`, workspace(), { ...MESSAGE, id: "stops" })).status,
  ).toBe(202);
  expect(await stopped.stop()).toBe(0);
  expect(collector.spans.some(({ service }) => service === "stopped")).toBe(true);
});

test("with a sampling ratio of 0, only requests whose caller samples them are traced", async () => {
  const sampler = { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" };
  const edge = await startEdge(push.service.core.port, {
    ...collector.environment,
    ...sampler,
    OTEL_SERVICE_NAME: "share",
  });
  for (const [id, headers] of [
    ["none", {}],
    ["invalid", { traceparent: "invalid" }],
    ["sampled", { traceparent: SAMPLED }],
  ] as const) {
    const event = { ...MESSAGE, id: `share-${id}` };
    expect((await post(`http://127.0.0.1:${edge.port}`, workspace(), event, { headers })).status).toBe(202);
  }
  expect(await edge.stop()).toBe(0);
  const traces = collector.spans.filter(({ service }) => service === "share").map(({ traceId }) => traceId);
  expect(traces).toEqual([SAMPLED.split("-")[1]]);
});

// time: smoke
test("with tracing off, nothing is exported, stored or sent", async () => {
  const unused = await startCollector();
  const off = { ...unused.environment, OTEL_SDK_DISABLED: "true" };
  const untraced = await startPushService(() => off);
  const other = await startEdge(untraced.service.core.port, off);
  const { games } = untraced.service.clients;
  const { workspaceId, secret, requests } = await untraced.bridge();
  const consumer = await startConsumer(games, {}).opened();
  const headers = { traceparent: SAMPLED };
  const to = { id: workspaceId, secret };
  expect((await post(`http://127.0.0.1:${other.port}`, to, MESSAGE, { headers })).status).toBe(202);
  const [delivered] = await consumer.sees(1);
  expect(delivered?.traceparent).toBe("");
  await publish("untraced", SAMPLED, SAMPLED, { games, workspaceId });
  const [request] = await until("the push has arrived", () => requests.length > 0 && requests);
  expect(request?.headers).not.toHaveProperty("traceparent");
  consumer.cancel();
  await other.stop();
  await untraced.close();
  await unused.close();
  expect(unused.requests).toEqual([]);
});

// time: smoke
test("a traced edge works with a core that does not trace", async () => {
  const untraced = await startPushService();
  const traced = await startEdge(untraced.service.core.port, collector.environment);
  const { workspaceId, secret } = await untraced.bridge();
  const consumer = await startConsumer(untraced.service.clients.games, {}).opened();
  const to = { id: workspaceId, secret };
  const headers = { traceparent: SAMPLED };
  expect((await post(`http://127.0.0.1:${traced.port}`, to, MESSAGE, { headers })).status).toBe(202);
  const [delivered] = await consumer.sees(1);
  expect(delivered?.traceparent).toBe("");
  await collector.span("POST /hooks/{workspaceId}", { "chatbridge.workspace.id": workspaceId });
  consumer.cancel();
  await traced.stop();
  await untraced.close();
});
