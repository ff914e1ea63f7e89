import { startConsumer, type Consumer } from "../harness/consumer";
import { connectToCore, type CoreClients } from "../harness/core-clients";
import { until } from "../harness/wait";
import { nth } from "./clients";
import { expectSound, suffer } from "./fault";
import { startFollower } from "./follower";
import { GROUP, type Load } from "./load";
import { startRigOnRedis, type Rig } from "./rig";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy";

let rig: Rig;
let proxy: TcpProxy;
let clients: CoreClients;
beforeAll(async () => {
  ({ rig } = await startRigOnRedis());
  proxy = await startTcpProxy({ host: "127.0.0.1", port: nth(rig.cores, 0).port });
  clients = connectToCore(proxy.port);
});
afterAll(async () => {
  clients.close();
  await proxy.close();
  await rig.close();
});

const WINDOW = 20;

/** Takes events through the proxy until its window is full, and acks none. */
async function hoard(group: string, ackDeadlineSeconds: number): Promise<Consumer> {
  const ackDeadline = { seconds: ackDeadlineSeconds };
  return startConsumer(clients.games, { group, consumer: "hoarder", window: WINDOW, ackDeadline }).opened();
}

/** Follows in a group until all that is accepted has come to it. */
async function catchUp(group: string, { facts }: Load): Promise<() => Promise<void>> {
  const games = rig.cores.map((core) => core.clients.games);
  const follower = await startFollower({ group, consumer: "good", games, facts });
  return () => follower.stop();
}

// time: ordering
test("a game service that never acks gets its window again, delays no other group, and loses nothing", async () => {
  let stop = async (): Promise<void> => undefined;
  const hoarder = await hoard("slow", 1);
  try {
    const became = await suffer(rig, {
      name: "a game service that never acks",
      groups: [GROUP, "slow"],
      async happens(load) {
        await until("its window is full", () => hoarder.seen.length >= WINDOW);
        await until("they come again", () => hoarder.seen.some(({ attempt }) => attempt >= 3));
        await load.grows();
        // Never more than the window at once: by each attempt, at most so many.
        expect(new Set(hoarder.seen.map(({ id }) => id)).size).toBeLessThanOrEqual(WINDOW);
        hoarder.cancel();
        stop = await catchUp("slow", load);
      },
    });
    expectSound(became);
  } finally {
    hoarder.cancel();
    await stop();
  }
});

test("when a game service dies with a full window, another one of its group gets the events", async () => {
  let stop = async (): Promise<void> => undefined;
  const hoarder = await hoard("dying", 600);
  try {
    const became = await suffer(rig, {
      name: "a game service that dies with a full window",
      groups: [GROUP, "dying"],
      async happens(load) {
        await until("its window is full", () => hoarder.seen.length >= WINDOW);
        proxy.dropAll();
        stop = await catchUp("dying", load);
      },
    });
    expectSound(became);
  } finally {
    await stop();
  }
});
