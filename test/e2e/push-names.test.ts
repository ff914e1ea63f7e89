import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import { status } from "../harness/behaviours";
import { cardUpdate, startPushService, textEvents, type OwnPushService } from "../harness/push";
import { durableLines, startRedisNodes, type RedisNode } from "../harness/redis-node";
import { until } from "../harness/wait";

let redis: RedisNode;
let closeRedis: () => Promise<void>;
let push: OwnPushService;
beforeAll(async () => {
  const started = await startRedisNodes(async (startNode) => ({
    node: await startNode({ lines: durableLines("") }),
  }));
  redis = started.node;
  closeRedis = started.close;
  push = await startPushService(() => ({ REDIS_URL: `redis://localhost:${redis.port}` }));
});
afterAll(async () => {
  await push.close();
  await closeRedis();
});

// time: ordering
test("name servers that do not answer for some bridges delay neither other bridges, nor new target URLs, nor a reconnection to Redis by host name", async () => {
  const names = Array.from({ length: 8 }, () => push.bridge());
  const stalled = await Promise.all(names);
  const other = await push.bridge();
  // Each push needs a new connection, so core looks up the name each time.
  other.behave(status(204, { headers: { Connection: "close" } }));
  for (const { name } of stalled) push.names.set(name, "silence");
  const lookups = push.names.lookups(other.name);
  await push.publish(...stalled.flatMap(({ workspaceId }) => textEvents(workspaceId, 10)));
  await until("the names are being looked up", () =>
    stalled.every(({ name }) => push.names.lookups(name) > 0),
  );

  await push.publish(cardUpdate(other.workspaceId));
  const [delivery] = await push.logged(other.workspaceId, 1);
  expect(delivery).toMatchObject({ result: DeliveryResult.SUCCESS });
  expect(push.names.lookups(other.name)).toBe(lookups + 1);
  await push.workspaces.setTargetUrl(other.workspaceId, other.url);

  await redis.kill();
  await redis.start();
  await until("core publishes again", () =>
    push.publish(cardUpdate(other.workspaceId)).catch(() => undefined),
  );
  await push.logged(other.workspaceId, 2);
  // The stalled bridges did not get any request, so core is still looking up their names.
  expect(stalled.flatMap(({ requests }) => requests)).toEqual([]);
});
