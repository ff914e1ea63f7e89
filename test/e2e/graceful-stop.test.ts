import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { credentials, Client, status } from "@grpc/grpc-js";
import { poll, post, signatureOf } from "../harness/bridge";
import { startConsumer, startStream } from "../harness/consumer";
import { startCore, startEdge, TOKENS, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import {
  bearer,
  connectToCore,
  createWorkspace,
  type CoreClients,
  type TestWorkspace,
} from "../harness/service";
import { stopInTime } from "../harness/stopping";
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

test.each(["SIGTERM", "SIGINT"] as const)("on %s core and the edge stop with exit code 0", async (signal) => {
  const core = await startCore(redis.url);
  const edge = await startEdge(core.port);
  expect((await poll(`http://127.0.0.1:${edge.port}`, workspace)).status).toBe(200);
  expect(await stopInTime(edge, signal)).toBe(0);
  expect(await stopInTime(core, signal)).toBe(0);
  for (const { log } of [edge, core]) await until("it says so", () => log.at(-1)?.["msg"] === "stopped");
});

test("an edge that is connected does not hold core up, and answers 503 from then on", async () => {
  const core = await startCore(redis.url);
  const edge = await startEdge(core.port);
  const url = `http://127.0.0.1:${edge.port}`;
  try {
    expect((await poll(url, workspace)).status).toBe(200);
    expect(await stopInTime(core)).toBe(0);
    expect((await poll(url, workspace)).status).toBe(503);
  } finally {
    await edge.stop();
    await core.stop();
  }
});

test("an open Follow stream is ended with UNAVAILABLE and does not hold core up", async () => {
  const core = await startCore(redis.url);
  const own = connectToCore(core.port);
  const consumer = await startConsumer(own.games, { group: "stopped" }).opened();
  const silent = startStream(own.games);
  expect(await stopInTime(core)).toBe(0);
  expect((await consumer.ended()).code).toBe(status.UNAVAILABLE);
  expect((await silent.ended()).code).toBe(status.UNAVAILABLE);
  own.close();
});

test("what a stopped core left unacked comes to a consumer elsewhere", async () => {
  const core = await startCore(redis.url);
  const edge = await startEdge(helper.port);
  const own = connectToCore(core.port);
  const first = await startConsumer(own.games, { group: "moved", consumer: "a" }).opened();
  await post(`http://127.0.0.1:${edge.port}`, workspace, {
    type: "message",
    channel: "c1",
    user: { id: "u1" },
    text: "carry on",
  });
  await first.sees(1);
  expect(await stopInTime(core)).toBe(0);
  const second = await startConsumer(clients.games, { group: "moved", consumer: "b" }).opened();
  expect((await second.sees(1)).map(({ text, attempt }) => [text, attempt])).toEqual([["carry on", 2]]);
  second.cancel();
  own.close();
  await edge.stop();
});

test("a stream that its client never ends does not hold core up for longer than ten seconds", async () => {
  const core = await startCore(redis.url);
  const raw = new Client(`127.0.0.1:${core.port}`, credentials.createInsecure());
  const same = (bytes: Buffer): Buffer => bytes;
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const stream = raw.makeBidiStreamRequest(path, same, same, bearer(TOKENS.game));
  const answered = new Promise((resolve) => stream.once("data", resolve));
  const ended = new Promise((resolve) => stream.once("error", resolve));
  // Asks for the list of services: field 7, an empty text.
  stream.write(Buffer.from([0x3a, 0x00]));
  await answered;
  expect(await stopInTime(core)).toBe(0);
  expect(await ended).toBeInstanceOf(Error);
  raw.close();
}, 40_000);

test("keep-alive connections do not hold the edge up", async () => {
  const edge = await startEdge(helper.port);
  const agent = new Agent({ keepAlive: true, maxSockets: 3 });
  const get = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { "Service-Signature": signatureOf(workspace.secret, "") };
      const path = `/hooks/${workspace.id}/events`;
      const request = httpRequest(
        { agent, host: "127.0.0.1", port: edge.port, path, headers },
        (response) => {
          response.resume().once("end", () => resolve(response.statusCode ?? 0));
        },
      );
      request.on("error", reject).end();
    });
  expect(await Promise.all([get(), get(), get()])).toEqual([200, 200, 200]);
  await until("the connections are kept", () => Object.values(agent.freeSockets).flat().length === 3);
  expect(await stopInTime(edge)).toBe(0);
  agent.destroy();
});

test("core stops in time while Redis is away", async () => {
  const own = await startTestRedis();
  const core = await startCore(own.url);
  const games = connectToCore(core.port);
  const consumer = await startConsumer(games.games).opened();
  await own.kill();
  expect(await stopInTime(core)).toBe(0);
  await consumer.ended();
  games.close();
  await own.close();
});

test("half a request body does not hold the edge up", async () => {
  const core = await startCore(redis.url);
  const edge = await startEdge(core.port);
  const socket = connect(edge.port, "127.0.0.1").on("error", () => undefined);
  try {
    socket.write(`POST /hooks/${workspace.id} HTTP/1.1\r\nHost: edge\r\nContent-Length: 100\r\n\r\n{"type":`);
    await once(socket, "ready");
    // Its answer shows that the edge has read what came before it.
    expect((await poll(`http://127.0.0.1:${edge.port}`, workspace)).status).toBe(200);
    expect(await stopInTime(edge)).toBe(0);
  } finally {
    socket.destroy();
    await edge.stop();
    await core.stop();
  }
});
