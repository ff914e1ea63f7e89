import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { status } from "@grpc/grpc-js";
import { createClient } from "redis";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { poll, post, send } from "../harness/bridge";
import { startCore, startEdge, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import {
  connectToCore,
  createWorkspace,
  publish,
  type CoreClients,
  type TestWorkspace,
} from "../harness/service";
import { stopInTime, untilStopping } from "../harness/stopping";
import { until } from "../harness/wait";

let redis: TestRedis;
let helper: TestProcess;
let clients: CoreClients;
let workspace: TestWorkspace;

beforeAll(async () => {
  redis = await startTestRedis();
  helper = await startCore(redis.url);
  clients = connectToCore(helper.port);
  workspace = await createWorkspace(clients);
});
afterAll(async () => {
  clients.close();
  await helper.stop();
  await redis.close();
});

/** Large enough to be told from everything else that waits at Redis. */
const LARGE = "\u{1f600}".repeat(4_000);
const LARGE_BYTES = 12_000;

/** Makes Redis hold back writes until `release`; a large one can be waited for. */
async function holdWrites(): Promise<{ untilCallWaits(): Promise<void>; release(): Promise<void> }> {
  const admin = createClient({ socket: { path: new URL(redis.url).pathname, tls: false } });
  admin.on("error", () => undefined);
  await admin.connect();
  await admin.sendCommand(["CLIENT", "PAUSE", "60000", "WRITE"]);
  return {
    async untilCallWaits() {
      await until("the call waits at Redis", async () => {
        const list = await admin.sendCommand<string>(["CLIENT", "LIST"]);
        return list.split("\n").some((line) => {
          const bytes = ["qbuf", "argv-mem"].map((name) =>
            Number(new RegExp(` ${name}=(\\d+)`).exec(line)?.[1] ?? 0),
          );
          return bytes.some((count) => count >= LARGE_BYTES);
        });
      });
    },
    async release() {
      if (!admin.isOpen) return;
      await admin.sendCommand(["CLIENT", "UNPAUSE"]);
      admin.destroy();
    },
  };
}

/** A way to a core that can keep back what core says. */
async function startHoldingRelay(corePort: number) {
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  let holding = false;
  let toCoreBytes = 0;
  const server = createServer((edge) => {
    const core = connect(corePort, "127.0.0.1");
    for (const socket of [edge, core]) sockets.add(socket.on("error", () => undefined));
    edge.on("data", (chunk) => {
      toCoreBytes += chunk.length;
      core.write(chunk);
    });
    core.on("data", (chunk) => {
      if (holding) held.push(() => edge.write(chunk));
      else edge.write(chunk);
    });
    edge.on("close", () => core.destroy());
    core.on("close", () => edge.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    hold() {
      holding = true;
      toCoreBytes = 0;
    },
    /** Waits for a large call to have gone by. */
    untilCallIsUnderWay: () => until("the call is under way", () => toCoreBytes >= LARGE_BYTES),
    release() {
      holding = false;
      for (const write of held.splice(0)) write();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

test("core finishes a call in flight before it stops, and takes no new ones", async () => {
  const core = await startCore(redis.url);
  const own = connectToCore(core.port);
  const late = connectToCore(core.port);
  const hold = await holdWrites();
  try {
    const message = { kind: MessageKind.TEXT, text: LARGE };
    const content = { $case: "messageCreate" as const, value: { channel: "c1", message } };
    const publishing = publish(own, { workspaceId: workspace.id, content });
    await hold.untilCallWaits();
    const stopped = stopInTime(core);
    await untilStopping(core);
    const refused = publish(late, { workspaceId: workspace.id });
    await expect(refused).rejects.toMatchObject({ code: status.UNAVAILABLE });
    await hold.release();
    const [result] = await publishing;
    expect(result?.outcome?.$case).toBe("published");
    expect(await stopped).toBe(0);
  } finally {
    await hold.release();
    own.close();
    late.close();
    await core.stop();
  }
});

test("the edge finishes a request in flight before it stops, and takes no new ones", async () => {
  const relay = await startHoldingRelay(helper.port);
  const edge = await startEdge(relay.port);
  const url = `http://127.0.0.1:${edge.port}`;
  try {
    expect((await poll(url, workspace)).status).toBe(200);
    relay.hold();
    const posting = post(url, workspace, { type: "message", channel: "c1", user: { id: "u1" }, text: LARGE });
    await relay.untilCallIsUnderWay();
    const stopped = stopInTime(edge);
    await untilStopping(edge);
    await until("nobody new is served", () =>
      send(url, "/").then(
        (answer) => answer.status >= 500,
        () => true,
      ),
    );
    relay.release();
    expect((await posting).status).toBe(202);
    expect(await stopped).toBe(0);
  } finally {
    relay.close();
    await edge.stop();
  }
});
