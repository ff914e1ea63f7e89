import { status } from "@grpc/grpc-js";
import { post } from "../harness/bridge";
import { startConsumer, type Consumer } from "../harness/consumer";
import { createWorkspace, startService, type TestService, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";

let service: TestService;
let consumer: Consumer;

beforeAll(async () => {
  service = await startService();
});
afterEach(() => consumer.cancel());
afterAll(() => service.close());

const BACK_MS = 20_000;

let requests = 0;

/** Types a message until it is accepted: the same request each time, so that one that was stored unanswered counts once. */
async function typeUntilAccepted(workspace: TestWorkspace, text: string): Promise<void> {
  const event = { id: `r${++requests}`, type: "message", channel: "c1", user: { id: "u1" }, text };
  await until(
    "the message is accepted",
    async () => (await post(service.url, workspace, event)).status === 202,
    BACK_MS,
  );
}

const seen = (): readonly string[] => consumer.seen.map(({ text, attempt }) => `${text}/${attempt}`);

// contract: post-stored
test("a stream outlives a Redis that crashes and comes back with its file: nothing accepted is lost", async () => {
  const { clients, redis } = service;
  const workspace = await createWorkspace(clients);
  consumer = await startConsumer(clients.games, { group: "file", ackDeadline: { seconds: 5 } }).opened();
  await typeUntilAccepted(workspace, "acked");
  await typeUntilAccepted(workspace, "unacked");
  const [first] = await consumer.sees(2);
  consumer.ack(...(first === undefined ? [] : [first]));
  await redis.kill();
  await redis.restart();
  await typeUntilAccepted(workspace, "after");
  await until("what came after it is there", () => seen().includes("after/1"), BACK_MS);
  await until(
    "what was not acked comes again",
    () => seen().some((each) => /^unacked\/[2-9]$/.test(each)),
    BACK_MS,
  );
  expect(consumer.end).toBeUndefined();
  // The ack was on its way when Redis went; it is written when Redis is back.
  consumer.ackAll();
  await typeUntilAccepted(workspace, "last");
  await until("it goes on", () => seen().includes("last/1"), BACK_MS);
}, 60_000);

test("a stream outlives a Redis that comes back empty: its group is made again and has what is accepted from then on", async () => {
  const { clients, redis } = service;
  consumer = await startConsumer(clients.games, { group: "empty" }).opened();
  const lost = await createWorkspace(clients);
  await typeUntilAccepted(lost, "before");
  await consumer.sees(1);
  await redis.kill();
  await redis.restart({ empty: true });
  const fresh = await until("core is back", () => createWorkspace(clients).catch(() => undefined), BACK_MS);
  await typeUntilAccepted(fresh, "one");
  await typeUntilAccepted(fresh, "two");
  await until("they came", () => seen().includes("two/1"), BACK_MS);
  expect(seen().filter((each) => !each.startsWith("before"))).toEqual(["one/1", "two/1"]);
  expect(consumer.end).toBeUndefined();
}, 60_000);

test("a stream that is opened while Redis is away ends with UNAVAILABLE, and one opened after follows", async () => {
  const { clients, redis } = service;
  await redis.kill();
  consumer = startConsumer(clients.games, { group: "later" });
  const end = await consumer.ended(BACK_MS);
  expect(end).toMatchObject({ code: status.UNAVAILABLE });
  await redis.restart();
  const workspace = await until(
    "core is back",
    () => createWorkspace(clients).catch(() => undefined),
    BACK_MS,
  );
  consumer = await startConsumer(clients.games, { group: "later" }).opened();
  await typeUntilAccepted(workspace, "one");
  expect((await consumer.sees(1)).map(({ text }) => text)).toEqual(["one"]);
}, 60_000);
