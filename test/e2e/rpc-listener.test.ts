import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { connectivityState, credentials, type Client, type Server } from "@grpc/grpc-js";
import { createHealthService, HEALTH_METHODS } from "../../core/rpc/health-service";
import { AcceptedTokens } from "../../core/rpc/accepted-tokens";
import { createCallPace } from "../../core/rpc/call-pace";
import { listen, type ListenerOptions, type Patience } from "../../core/rpc/listener";
import {
  BridgeServiceClient,
  BridgeServiceService,
  PollRequest,
  PollResponse,
  type BridgeServiceServer,
} from "../../proto/gen/chatbridge/v1/bridge";
import {
  HealthCheckRequest,
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthClient,
} from "../../proto/gen/grpc/health/v1/health";
import { limitConnections } from "../../runtime/limit-connections";
import { bearer } from "../../runtime/core-channel";
import { call } from "../harness/core-clients";
import { TOKENS } from "../harness/processes";
import { openFlood } from "../harness/flood";
import { Certificates } from "../../runtime/certificates";
import { createTestCa } from "../harness/test-ca";
import { until } from "../harness/wait";

/**
 * The listener's timeouts in these tests. `silentMs` is long enough for a call, but short enough for a test to wait
 * that long.
 */
const PATIENCE: Patience = { silentMs: 2_000, pingEveryMs: 60_000, pongWithinMs: 60_000 };
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const EMPTY_SETTINGS = "\0\0\0\x04\0\0\0\0\0";

const lanes = { open: 0 };
const whyNotReady = jest.fn(async (): Promise<string | undefined> => undefined);
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Starts core's listener. Polls are answered with an empty response, and lanes stay open. */
async function start(options: Partial<ListenerOptions & Patience> = {}) {
  const services: Pick<BridgeServiceServer, "poll" | "lane"> = {
    poll: (_call, callback) => callback(null, PollResponse.create()),
    lane: (stream) => {
      lanes.open += 1;
      stream.on("error", () => undefined).on("cancelled", () => (lanes.open -= 1));
    },
  };
  const rpc = await listen(
    {
      at: { host: "127.0.0.1", port: 0 },
      tokens: new AcceptedTokens([{ role: "edge", name: "edge", workspaces: undefined, token: TOKENS.edge }]),
      pace: createCallPace(),
      tls: undefined,
      limitConnections: () => undefined,
      ...options,
    },
    (server: Server) => {
      server.addService(BridgeServiceService, { ...services });
      server.addService(HEALTH_METHODS, {
        ...createHealthService({ whyNotReady, isStopping: () => false }, jest.fn()),
      });
    },
    { ...PATIENCE, ...options },
  );
  closers.push(rpc.close);
  return rpc;
}

async function open({ port }: { readonly port: number }): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  closers.push(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

function clientOf({ port }: { readonly port: number }, options = {}): BridgeServiceClient {
  const client = new BridgeServiceClient(`127.0.0.1:${port}`, credentials.createInsecure(), options);
  closers.push(() => client.close());
  return client;
}

function healthOf({ port }: { readonly port: number }) {
  const health = new HealthClient(`127.0.0.1:${port}`, credentials.createInsecure());
  closers.push(() => health.close());
  return { health, check: () => call(health, health.check, HealthCheckRequest.create(), "none is needed") };
}

const isOpen = (client: Client): boolean =>
  client.getChannel().getConnectivityState(false) === connectivityState.READY;
const poll = (client: BridgeServiceClient, token: string) =>
  call(client, client.poll, PollRequest.create(), token);

/** Resolves when the connection is closed. A socket that writes when core closes the connection gets a reset, which is no fault. */
const ended = (socket: Socket): Promise<unknown> => {
  socket.on("error", () => undefined);
  return new Promise((resolve) => socket.resume().once("close", resolve));
};

// time: ordering
test("connections without an authorized call are closed, and a connection with such a call stays open", async () => {
  const rpc = await start();
  const client = clientOf(rpc);
  await poll(client, TOKENS.edge);
  // The connection of `client` is the oldest, so core would close it first if it had made no authorized call.
  const refused = clientOf(rpc, { "grpc.use_local_subchannel_pool": 1 });
  await expect(poll(refused, "a-token-that-core-does-not-know")).rejects.toThrow("UNAUTHENTICATED");
  const [silent, half, idle, dribbling] = [
    await open(rpc),
    await open(rpc),
    await open(rpc),
    await open(rpc),
  ];
  half.write(PREFACE.slice(0, 10));
  idle.write(PREFACE + EMPTY_SETTINGS);
  const drops = [...PREFACE];
  const dribble = setInterval(() => dribbling.write(drops.shift() ?? "\0"), PATIENCE.silentMs / 10);
  await Promise.all([silent, half, idle, dribbling].map(ended));
  clearInterval(dribble);
  await until("the connection of the rejected client is closed", () => !isOpen(refused));
  expect(isOpen(client)).toBe(true);
  await poll(client, TOKENS.edge);
});

// time: ordering
test("calls that do not need a token delay the closing of their connection, but do not prevent it", async () => {
  const rpc = await start();
  const { health, check } = healthOf(rpc);
  await check();
  const silent = await open(rpc);
  silent.resume();
  await until("a silent connection is closed", async () => {
    await check();
    return silent.closed;
  });
  expect(isOpen(health)).toBe(true);
  await until("the connection of the health checks is closed", () => !isOpen(health));
});

// time: controlled
test("core checks its health at most once a second, however many clients ask for it", async () => {
  const rpc = await start();
  const { check } = healthOf(rpc);
  const now = jest.spyOn(performance, "now").mockReturnValue(0);
  whyNotReady.mockClear();
  for (const answer of await Promise.all(Array.from({ length: 20 }, check))) {
    expect(answer).toEqual({ status: ServingStatus.SERVING });
  }
  whyNotReady.mockResolvedValue("Redis does not answer");
  now.mockReturnValue(999);
  expect(await check()).toEqual({ status: ServingStatus.SERVING });
  now.mockReturnValue(1_000);
  expect(await check()).toEqual({ status: ServingStatus.NOT_SERVING });
  expect(whyNotReady).toHaveBeenCalledTimes(2);
  now.mockRestore();
});

test("a connection with an unfinished TLS handshake is closed", async () => {
  const ca = createTestCa();
  closers.push(() => ca.close());
  const { cert, key } = ca.issue(["127.0.0.1"]);
  const tls = new Certificates({ cert, key });
  const rpc = await start({ tls });
  const [silent, half] = [await open(rpc), await open(rpc)];
  // Sends only the start of a TLS record: the record's header announces more bytes than the test sends.
  half.write(Buffer.from([0x16, 3, 1, 2, 0, 1, 0]));
  await Promise.all([ended(silent), ended(half)]);
  const client = new BridgeServiceClient(`127.0.0.1:${rpc.port}`, credentials.createSsl(ca.cert));
  closers.push(() => client.close());
  await poll(client, TOKENS.edge);
});

test("the streams of a client that does not answer pings are closed, and closing the listener does not wait for this client", async () => {
  const rpc = await start({ pingEveryMs: 200, pongWithinMs: 1_000 });
  const ends: Socket[] = [];
  // The test unpipes and pauses the proxy's sockets below. After that, the proxy behaves like a dead machine: it
  // neither sends data nor closes connections.
  const proxy = createServer((near) => {
    const far = connect(rpc.port, "127.0.0.1");
    ends.push(
      near.on("error", () => undefined),
      far.on("error", () => undefined),
    );
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  closers.push(() => {
    for (const socket of ends) socket.destroy();
    proxy.close();
  });
  clientOf({ port: (proxy.address() as AddressInfo).port })
    .lane(bearer(TOKENS.edge))
    .on("error", () => undefined);
  await until("the lane is open", () => lanes.open === 1);
  for (const socket of ends) socket.unpipe().pause();
  await until("the lane is closed", () => lanes.open === 0);
  await rpc.close();
});

test("a listener that closes immediately closes connections that have no call in progress, and can be closed twice", async () => {
  const rpc = await start({ silentMs: 60_000 });
  const silent = await open(rpc);
  const closed = [rpc.close(), rpc.close()];
  await ended(silent);
  await Promise.all(closed);
  await expect(open(rpc)).rejects.toThrow("ECONNREFUSED");
});

test("an address that has used its share of connections cannot open more, and another address is still served", async () => {
  const rpc = await start({
    silentMs: 60_000,
    limitConnections: (listener) => void limitConnections(listener, { max: 200, share: 20 }),
  });
  const flood = await openFlood(rpc.port, "127.0.0.2", 300, () => "");
  closers.push(flood.end);
  await until("the connections above the share are closed", () => flood.closed() >= 280);
  await poll(clientOf(rpc), TOKENS.edge);
  expect(flood.closed()).toBe(280);
});
