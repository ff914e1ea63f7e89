import {
  Server,
  ServerCredentials,
  status,
  type handleBidiStreamingCall,
  type handleUnaryCall,
} from "@grpc/grpc-js";
import {
  GameServiceService,
  type FollowRequest,
  type FollowResponse,
  type OutboundEvent,
  type PublishEventsRequest,
  type PublishEventsResponse,
  type PublishResult,
} from "../../../../proto/gen/chatbridge/v1/game";
import { until } from "../../../../test/harness/wait";
import { CoreRejects, LinkClosed } from "../../core-link";
import { closeLinks, followWithLink, messageEvent } from "./follow-with-link";

const servers: Server[] = [];
afterEach(async () => {
  await closeLinks();
  for (const server of servers.splice(0)) server.forceShutdown();
});

type Publish = handleUnaryCall<PublishEventsRequest, PublishEventsResponse>;
type Follow = handleBidiStreamingCall<FollowRequest, FollowResponse>;
type Answer = (keys: readonly string[], call: number) => status | "published" | "nothing";

/** Starts a server that answers each call with the result of `answer`, and a link to the server. */
async function linkTo(answer: Answer, follow: Follow = () => undefined) {
  const calls: (readonly string[])[] = [];
  const publishEvents: Publish = ({ request }, done) => {
    const keys = request.events.map(({ idempotencyKey }) => idempotencyKey);
    const code = answer(keys, calls.push(keys));
    if (code === "nothing") return;
    if (code !== "published") return done({ code, details: `refused ${keys.length}` });
    const results = keys.map((messageId): PublishResult => {
      const value = { eventId: "", sequence: 1, messageId, expiresAt: undefined, repeated: false };
      return { outcome: { $case: "published", value } };
    });
    done(null, { results });
  };
  const server = new Server();
  servers.push(server);
  server.addService(GameServiceService, { publishEvents, follow });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  );
  return { ...followWithLink(port), calls };
}

const events = (count: number) => Array.from({ length: count }, (_, i) => messageEvent("w", "x", `k${i}`));
const idsOf = (results: readonly PublishResult[]) =>
  results.map(({ outcome }) => (outcome?.$case === "published" ? outcome.value.messageId : undefined));

test("a call that is too large is split in halves, and the results keep their order", async () => {
  const { link, calls } = await linkTo((keys) => (keys.length > 3 ? status.RESOURCE_EXHAUSTED : "published"));
  const results = await link.publish(events(10));
  expect(idsOf(results)).toEqual(events(10).map(({ idempotencyKey }) => idempotencyKey));
  expect(calls.map(({ length }) => length)).toEqual([10, 5, 3, 2, 5, 3, 2]);
});

test("an event that is too large even for a separate call is refused, and the others are published", async () => {
  // The server accepts calls of up to 4 MB.
  const { link, calls } = await linkTo(() => "published");
  const large = messageEvent("w", "x".repeat(5_000_000), "large");
  const [before, after] = events(2) as [OutboundEvent, OutboundEvent];
  const results = await link.publish([before, large, after]);
  expect(idsOf(results)).toEqual(["k0", undefined, "k1"]);
  expect(results[1]?.outcome).toMatchObject({
    value: { message: expect.stringContaining("the event is too large: Received message larger") },
  });
  expect(calls).toEqual([["k0"], ["k1"]]);
});

test.each([
  status.RESOURCE_EXHAUSTED,
  status.INVALID_ARGUMENT,
  status.PERMISSION_DENIED,
  status.UNIMPLEMENTED,
])("a call with one event that is rejected with the status %d is not repeated", async (code) => {
  const { link, calls } = await linkTo(() => code);
  const error = await link.publish(events(1)).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(CoreRejects);
  expect(String(error)).toContain(`refused 1 (${status[code]})`);
  expect(calls).toHaveLength(1);
});

test.each([status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.INTERNAL, status.UNKNOWN])(
  "a call that fails with the status %d is repeated with the same keys",
  async (code) => {
    const { link, calls, log } = await linkTo((_, call) => (call < 3 ? code : "published"));
    expect(idsOf(await link.publish(events(2)))).toEqual(["k0", "k1"]);
    expect(calls).toEqual([
      ["k0", "k1"],
      ["k0", "k1"],
      ["k0", "k1"],
    ]);
    const warnings = log.lines.filter(({ message }) => message === "publishing failed, retrying");
    const fields = { code: status[code], details: "refused 2", events: 2 };
    expect(warnings.map((line) => line.fields)).toEqual([fields, fields]);
  },
);

const eventsOf = (...keys: readonly string[]) => keys.map((key) => messageEvent("w", "x", key));

test("events that are published at the same time share a call", async () => {
  const { link, calls } = await linkTo(() => "published");
  const results = await Promise.all([link.publish(eventsOf("a1", "a2")), link.publish(eventsOf("b"))]);
  expect(results.map(idsOf)).toEqual([["a1", "a2"], ["b"]]);
  expect(calls).toEqual([["a1", "a2", "b"]]);
});

test.each([
  [status.INVALID_ARGUMENT, CoreRejects],
  [status.RESOURCE_EXHAUSTED, CoreRejects],
  [status.INTERNAL, LinkClosed],
])(
  "an event for which core answers with the status %d does not prevent the publication of other events",
  async (code, error) => {
    const { link, calls } = await linkTo((keys) => (keys.includes("bad") ? code : "published"));
    const bad = link.publish(eventsOf("bad"));
    const failing = expect(bad).rejects.toThrow(error);
    const good = await Promise.all([link.publish(eventsOf("a")), link.publish(eventsOf("b"))]);
    expect(good.map(idsOf)).toEqual([["a"], ["b"]]);
    expect(calls[0]).toEqual(["bad", "a", "b"]);
    await until("the event was sent alone", () => calls.some((keys) => keys.join() === "bad"));
    await link.close();
    await failing;
  },
);

test("`close` cancels a call without an answer", async () => {
  const { link, calls } = await linkTo(() => "nothing");
  const publishing = link.publish(events(1));
  await until("the call has arrived", () => calls.length === 1);
  await Promise.all([expect(publishing).rejects.toThrow(LinkClosed), link.close()]);
  expect(calls).toHaveLength(1);
});

test("the deliveries of a lost shard are forgotten", async () => {
  const told: FollowRequest[] = [];
  const delivery = (deliveryId: string, shard: number): FollowResponse => ({
    say: {
      $case: "delivery",
      value: { deliveryId, attempt: 1, received: undefined, traceparent: "", shard },
    },
  });
  const { link, deliveries, owned } = await linkTo(
    () => "published",
    (call) => {
      call.on("data", (request: FollowRequest) => void told.push(request));
      call.write({ say: { $case: "opened", value: { streamId: "s", shards: 4 } } });
      call.write({ say: { $case: "assignment", value: { gained: [1, 2, 3], lost: [] } } });
      call.write(delivery("kept", 1));
      call.write(delivery("lost", 2));
      call.write({ say: { $case: "assignment", value: { gained: [], lost: [2] } } });
    },
  );
  await until("the shard is lost", () => deliveries.length === 2 && owned.size === 2);
  link.extend(["kept", "lost"]);
  await until("core was told", () => told.length === 2);
  expect(told[1]?.say).toEqual({ $case: "extend", value: { deliveryIds: ["kept"] } });
});
