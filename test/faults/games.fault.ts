import { startConsumer, type Consumer } from "../harness/consumer";
import { connectToCore, type CoreClients } from "../harness/core-clients";
import { startTestRedis } from "../harness/redis";
import { testRig } from "../harness/rig";
import { until } from "../harness/wait";
import { nth } from "./clients";
import { survive } from "./fault";
import { startFollower } from "./follower";
import { GROUP } from "./load";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy";

const rig = testRig(startTestRedis);
let proxy: TcpProxy;
let clients: CoreClients;
beforeAll(async () => {
  proxy = await startTcpProxy({ host: "127.0.0.1", port: nth(rig.cores, 0).port });
  clients = connectToCore(proxy.port);
});
afterAll(async () => {
  clients.close();
  await proxy.close();
});
let hoarder: Consumer;
let stopFollower = async (): Promise<void> => undefined;
afterEach(async () => {
  hoarder.cancel();
  await stopFollower();
});

const WINDOW = 20;

/** Opens a stream through the proxy. The stream receives events until its window is full. No event is acked. */
async function hoard(group: string, seconds: number): Promise<void> {
  const open = { group, consumer: "hoarder", window: WINDOW, ackDeadline: { seconds } };
  hoarder = await startConsumer(clients.games, open).opened();
}
const untilFull = () => until("the window is full", () => hoarder.seen.length >= WINDOW);

// time: ordering
test("events that a game service never acks are redelivered; no other group waits, and no event is lost", async () => {
  await hoard("slow", 1);
  await survive(rig, {
    name: "a game service that never acks",
    groups: [GROUP, "slow"],
    async happens({ facts, grows }) {
      await untilFull();
      await until("the events are redelivered", () => hoarder.seen.some(({ attempt }) => attempt >= 3));
      await grows();
      // Nothing is acked, so at most `WINDOW` different events are delivered.
      expect(new Set(hoarder.seen.map(({ id }) => id)).size).toBeLessThanOrEqual(WINDOW);
      hoarder.cancel();
      stopFollower = await startFollower(rig.cores, facts, "slow", "good");
    },
  });
});

test("when a game service dies while its window of unacked events is full, another consumer of its group gets the events", async () => {
  await hoard("dying", 600);
  await survive(rig, {
    name: "a game service that dies with a full window",
    groups: [GROUP, "dying"],
    async happens({ facts }) {
      await untilFull();
      proxy.dropAll();
      stopFollower = await startFollower(rig.cores, facts, "dying", "good");
    },
  });
});
