import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { credentials, Client, status } from "@grpc/grpc-js";
import { asText } from "../../core/store/redis/reply";
import { poll, send, signatureOf } from "../harness/bridge";
import { startConsumer, startStream, type } from "../harness/consumer";
import { startCore, startEdge, TOKENS, type TestProcess } from "../harness/processes";
import { startTestRedis } from "../harness/redis";
import { bearer } from "../../runtime/core-channel";
import { connectToCore } from "../harness/core-clients";
import { exchange, rawRequest } from "../harness/raw-http";
import {
  publish,
  startService,
  textEvent,
  withCore,
  type TestService,
  type TestWorkspace,
} from "../harness/service";
import { openTestStore } from "../harness/store";
import { until } from "../harness/wait";

let service: TestService;
let workspace: TestWorkspace;
beforeAll(async () => {
  service = await startService();
  workspace = await service.workspaces.make();
});
afterAll(() => service.close());

const urlOf = ({ port }: TestProcess): string => `http://127.0.0.1:${port}`;

async function coreStopsWithStreamsOpen(): Promise<void> {
  const core = await startCore(service.redis.url);
  const edge = await startEdge(core.port);
  const own = connectToCore(core.port);
  const consumer = await startConsumer(own.games, { group: "moved", consumer: "a" }).opened();
  const silent = startStream(own.games);
  const raw = new Client(`127.0.0.1:${core.port}`, credentials.createInsecure());
  const same = (bytes: Buffer): Buffer => bytes;
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const reflection = raw.makeBidiStreamRequest(path, same, same, bearer(TOKENS.game));
  const [answered, broken] = [once(reflection, "data"), once(reflection, "error").catch((error) => [error])];
  // This request asks for the list of services: its only field is `list_services`, number 7, an empty string.
  reflection.write(Buffer.from([0x3a, 0x00]));
  await answered;
  try {
    expect(await type(urlOf(edge), workspace, "carry on")).toBe(true);
    await consumer.sees(1);
    expect(await core.stop()).toBe(0);
    expect((await consumer.ended()).code).toBe(status.UNAVAILABLE);
    expect((await silent.ended()).code).toBe(status.UNAVAILABLE);
    expect((await broken)[0]).toBeInstanceOf(Error);
    expect((await poll(urlOf(edge), workspace)).status).toBe(503);
    // The unacked event is redelivered to a consumer that is connected to another core.
    const second = await startConsumer(service.clients.games, { group: "moved", consumer: "b" }).opened();
    const [{ text, attempt } = {}] = await second.sees(1);
    expect([text, attempt]).toEqual(["carry on", 2]);
    second.cancel();
  } finally {
    own.close();
    raw.close();
    await edge.stop();
    await core.stop();
  }
}

async function coreStopsWithoutRedis(): Promise<void> {
  const redis = await startTestRedis();
  await withCore(redis.url, {}, async ({ core, clients: { games } }) => {
    const consumer = await startConsumer(games).opened();
    await redis.kill();
    expect(await core.stop()).toBe(0);
    await consumer.ended();
  });
  await redis.close();
}

async function edgeStopsWithConnectionsOpen(): Promise<void> {
  const edge = await startEdge(service.core.port);
  const agent = new Agent({ keepAlive: true, maxSockets: 3 });
  const get = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { "Service-Signature": signatureOf(workspace.secret, "") };
      const path = `/hooks/${workspace.id}/events`;
      httpRequest({ agent, host: "127.0.0.1", port: edge.port, path, headers }, (response) => {
        response.resume().once("end", () => resolve(response.statusCode ?? 0));
      })
        .on("error", reject)
        .end();
    });
  const half = connect(edge.port, "127.0.0.1").on("error", () => undefined);
  try {
    half.write(`POST /hooks/${workspace.id} HTTP/1.1\r\nHost: edge\r\nContent-Length: 100\r\n\r\n{"type":`);
    await once(half, "ready");
    // These answers show that the edge has already read the incomplete request.
    expect(await Promise.all([get(), get(), get()])).toEqual([200, 200, 200]);
    await until("the connections are kept open", () => Object.values(agent.freeSockets).flat().length === 3);
    expect(await edge.stop()).toBe(0);
  } finally {
    half.destroy();
    agent.destroy();
    await edge.stop();
  }
}

test("core and the edge stop with exit code 0 while clients keep connections open, and so does core while Redis is unavailable", () =>
  Promise.all([coreStopsWithStreamsOpen(), coreStopsWithoutRedis(), edgeStopsWithConnectionsOpen()]));

/** A text that is larger than all other traffic, so that the tests can recognize a call with this text by its size. */
const LARGE = "\u{1f600}".repeat(4_000);
const LARGE_BYTES = 12_000;

/**
 * Makes Redis delay writes until `release` is called. The returned `untilCallWaits` waits until Redis delays a large
 * write.
 */
async function holdWrites(): Promise<{ untilCallWaits(): Promise<unknown>; release(): Promise<void> }> {
  const store = await openTestStore(service.redis.url);
  const admin = (...command: string[]) => store.redis.command("", ["CLIENT", ...command]);
  await admin("PAUSE", "60000", "WRITE");
  let isHeld = true;
  return {
    untilCallWaits: () =>
      until("the call waits at Redis", async () => {
        const list = asText(await admin("LIST"));
        const sizes = [...list.matchAll(/ (?:qbuf|argv-mem)=(\d+)/g)].map(([, bytes]) => Number(bytes));
        return Math.max(...sizes) >= LARGE_BYTES;
      }),
    async release() {
      if (!isHeld) return;
      isHeld = false;
      await admin("UNPAUSE");
      await store.close();
    },
  };
}

/** Starts a relay between an edge and core. The relay can delay the bytes that core sends. */
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
    /** Waits until a large call has passed through the relay. */
    untilCallIsUnderWay: () => until("the call is in progress", () => toCoreBytes >= LARGE_BYTES),
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

// time: ordering
test("core finishes a call in progress before it stops, and rejects new calls", async () => {
  const core = await startCore(service.redis.url);
  const [own, late] = [connectToCore(core.port), connectToCore(core.port)];
  const hold = await holdWrites();
  try {
    const publishing = publish(own, textEvent(workspace.id, LARGE));
    await hold.untilCallWaits();
    const stopped = core.stop();
    await until("core is stopping", () => core.log.some(({ msg }) => msg === "stopping"));
    const refused = publish(late, { workspaceId: workspace.id });
    await expect(refused).rejects.toMatchObject({ code: status.UNAVAILABLE });
    await hold.release();
    expect((await publishing)[0]?.outcome?.$case).toBe("published");
    expect(await stopped).toBe(0);
  } finally {
    await hold.release();
    own.close();
    late.close();
    await core.stop();
  }
});

/** Returns the bytes of a POST request with a message. */
function messageRequest(text: string): Buffer {
  const body = JSON.stringify({ type: "message", channel: "c1", user: { id: "u1" }, text });
  const headers = { "Service-Signature": signatureOf(workspace.secret, body) };
  return rawRequest("POST", `/hooks/${workspace.id}`, headers, body);
}

// time: ordering
test("a stopping edge finishes a request in progress, answers the next request on that connection, and does not accept new connections", async () => {
  const relay = await startHoldingRelay(service.core.port);
  const edge = await startEdge(relay.port);
  let connection: Socket | undefined;
  try {
    expect((await poll(urlOf(edge), workspace)).status).toBe(200);
    relay.hold();
    const exchanged = exchange(urlOf(edge), (socket) => {
      connection = socket;
      socket.write(messageRequest(LARGE));
    });
    await relay.untilCallIsUnderWay();
    const stopped = edge.stop();
    await until("the edge accepts no connections", () =>
      send(urlOf(edge), "/").then(
        () => false,
        () => true,
      ),
    );
    connection?.write(messageRequest("late"));
    relay.release();
    const { answers } = await exchanged;
    expect(answers.map(({ status, headers }) => [status, headers["connection"]])).toEqual([
      [202, "keep-alive"],
      [202, "close"],
    ]);
    expect(await stopped).toBe(0);
  } finally {
    relay.close();
    await edge.stop();
  }
});
