import { status } from "@grpc/grpc-js";
import { post } from "../harness/bridge";
import type { Consumer } from "../harness/consumer";
import { attemptsOf, useFollowers } from "../harness/followers";
import { createWorkspace, startService, type TestService, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";

const followers = useFollowers();
let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

let requests = 0;

/**
 * Repeats the same request until the edge accepts it. The request has an id, so its event is stored once, even if an
 * answer is lost.
 */
async function typeUntilAccepted(workspace: TestWorkspace, text: string): Promise<void> {
  const event = { id: `r${++requests}`, type: "message", channel: "c1", user: { id: "u1" }, text };
  await until(
    "the event is accepted",
    async () => (await post(service.url, workspace, event)).status === 202,
  );
}

const createWhenBack = (): Promise<TestWorkspace> =>
  until("core can create workspaces again", () => createWorkspace(service.clients).catch(() => undefined));

const sees = ({ seen }: Consumer, what: RegExp): Promise<boolean> =>
  until(`${what} arrives`, () => attemptsOf(seen).some((each) => what.test(each)));

test("a stream stays open when Redis restarts without data, and its group gets events that are accepted later", async () => {
  const consumer = await followers.start(service.clients, { group: "empty" }).opened();
  await typeUntilAccepted(await service.workspaces.make(), "before");
  await consumer.sees(1);
  await service.redis.kill();
  await service.redis.restart({ empty: true });
  const fresh = await createWhenBack();
  await typeUntilAccepted(fresh, "one");
  await typeUntilAccepted(fresh, "two");
  await sees(consumer, /^two\/1/);
  expect(attemptsOf(consumer.seen).filter((each) => !each.startsWith("before"))).toEqual(["one/1", "two/1"]);
  expect(consumer.end).toBeUndefined();
});

test("a stream that is opened while Redis is unavailable ends with UNAVAILABLE, and a stream that is opened later gets events", async () => {
  await service.redis.kill();
  const early = followers.start(service.clients, { group: "later" });
  expect((await early.ended()).code).toBe(status.UNAVAILABLE);
  await service.redis.restart();
  const workspace = await createWhenBack();
  const consumer = await followers.start(service.clients, { group: "later" }).opened();
  await typeUntilAccepted(workspace, "one");
  expect((await consumer.sees(1)).map(({ text }) => text)).toEqual(["one"]);
});
