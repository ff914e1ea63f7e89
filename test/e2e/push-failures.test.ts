import { createServer, type AddressInfo, type Socket } from "node:net";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { DeliveryResult, type LoggedDelivery } from "../../proto/gen/chatbridge/v1/workspace";
import {
  closeWithoutAnswer,
  dripBody,
  dripHeaders,
  flood,
  garbage,
  headersOnly,
  hintForEver,
  hugeHeaders,
  neverEnd,
  raw,
  reset,
  sayNothing,
  status,
  stopInBody,
  type Behaviour,
} from "../harness/behaviours";
import { MESSAGE_ID, update } from "../harness/contents";
import type { NameAnswer } from "../harness/names";
import { type PushedBridge, sharedPush } from "../harness/push";

const { SUCCESS, DNS, CONNECT, TLS, TIMEOUT, BODY } = DeliveryResult;
/** The contract's bound of an attempt, and what a machine that is busy may add to what it takes. */
const DEADLINE_MS = 5_000;
const BUSY_MS = 1_500;
type Arrange = (bridge: PushedBridge) => void | Promise<void>;
/** Where a machine's haste decides between two results, both are right. */
type Result = DeliveryResult | readonly DeliveryResult[];
type Row = readonly [name: string, result: Result, status: number, address: string, arrange: Arrange];

const push = sharedPush();
let drip: DripServer;
beforeAll(async () => {
  drip = await startDripServer();
});
afterAll(async () => {
  await drip.close();
});

const answer =
  (behaviour: Behaviour): Arrange =>
  (bridge) =>
    bridge.behave(behaviour);
const name =
  (record: NameAnswer): Arrange =>
  (bridge) =>
    push.names.set(bridge.name, record);
/** The bytes, and then the end of the connection. */
const breakOff = (bytes: string): Behaviour => ({ answer: ({ stream }) => void stream.end(bytes) });

const STALLS: readonly Row[] = [
  ["accepts the connection and says nothing", TIMEOUT, 0, "127.0.0.1", (bridge) => bridge.welcome("silence")],
  [
    "drips its part of the TLS handshake",
    TIMEOUT,
    0,
    "127.0.0.1",
    async ({ workspaceId, name: host }) => {
      await push.workspaces.setTargetUrl(workspaceId, `https://${host}:${drip.port}/`);
    },
  ],
  ["agrees on TLS and takes the request, then says nothing", TIMEOUT, 0, "127.0.0.1", answer(sayNothing())],
  ["drips its headers", TIMEOUT, 0, "127.0.0.1", answer(dripHeaders(300))],
  ["sends interim answers only", TIMEOUT, 0, "127.0.0.1", answer(hintForEver(300))],
  ["sends headers that promise a body, and no body", TIMEOUT, 200, "127.0.0.1", answer(headersOnly())],
  ["stops in the middle of the body", TIMEOUT, 200, "127.0.0.1", answer(stopInBody())],
  ["never ends its body", TIMEOUT, 200, "127.0.0.1", answer(neverEnd())],
  ["sends a byte of the body a second", TIMEOUT, 200, "127.0.0.1", answer(dripBody(1_000))],
  // Well after: a core that is held up at the deadline for a moment wakes to an answer before it wakes to its timer.
  ["answers after 6 seconds", TIMEOUT, 0, "127.0.0.1", answer(status(200, { afterMs: 6_000 }))],
];

const FAILURES: readonly Row[] = [
  ["has a name that DNS does not know", DNS, 0, "", name("NXDOMAIN")],
  ["has a name that DNS fails to look up", DNS, 0, "", name("SERVFAIL")],
  ["has a name without an address", DNS, 0, "", name([])],
  ["does not listen", CONNECT, 0, "", (bridge) => bridge.close()],
  ["resets the connection", [CONNECT, TLS], 0, "", (bridge) => bridge.welcome("reset")],
  ["closes the connection", TLS, 0, "", (bridge) => bridge.welcome("close")],
  ["does not speak TLS", TLS, 0, "", (bridge) => bridge.welcome("garbage")],
  ["resets the connection instead of an answer", BODY, 0, "127.0.0.1", answer(reset())],
  ["closes the connection instead of an answer", BODY, 0, "127.0.0.1", answer(closeWithoutAnswer())],
  ["answers what is not HTTP", BODY, 0, "127.0.0.1", answer(garbage())],
  ["answers with endless headers", BODY, 0, "127.0.0.1", answer(hugeHeaders())],
  ["answers a status that is none", BODY, 0, "127.0.0.1", answer(raw("HTTP/1.1 2xx OK\r\n\r\n"))],
  [
    "switches protocols",
    BODY,
    0,
    "127.0.0.1",
    answer(raw("HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")),
  ],
  [
    "breaks off in the middle of the body",
    BODY,
    200,
    "127.0.0.1",
    answer(breakOff("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx")),
  ],
  [
    "breaks off a chunked body",
    BODY,
    200,
    "127.0.0.1",
    answer(breakOff("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")),
  ],
];

/** Pushes one event that is not retried to each row's bridge, all at once, and answers what was logged. */
async function attemptEach(rows: readonly Row[]): Promise<readonly LoggedDelivery[]> {
  return Promise.all(
    rows.map(async ([, , , , arrange]) => {
      const bridge = await push.bridge();
      await arrange(bridge);
      const message = { id: MESSAGE_ID, kind: MessageKind.CARD, text: "x" };
      await push.publish({ workspaceId: bridge.workspaceId, content: update("c1", message) });
      const [attempt] = await push.logged(bridge.workspaceId, 1, 20_000);
      if (attempt === undefined) throw new Error("nothing was logged");
      return attempt;
    }),
  );
}

// contract: push-deadline, push-2xx
describe("an attempt ends as a timeout when the 5 seconds are over, where the bridge", () => {
  let attempts: readonly LoggedDelivery[];
  beforeAll(async () => {
    attempts = await attemptEach(STALLS);
  });
  test.each(STALLS.map(([what, ...expected], row) => [what, expected, row] as const))(
    "%s",
    (_what, [result, code, address], row) => {
      expect(attempts[row]).toMatchObject({ attempt: 1, result, status: code, address });
      expect(attempts[row]?.latencyMs).toBeGreaterThan(DEADLINE_MS - 200);
      expect(attempts[row]?.latencyMs).toBeLessThan(DEADLINE_MS + BUSY_MS);
    },
  );
});

describe("an attempt fails at once where the bridge", () => {
  let attempts: readonly LoggedDelivery[];
  beforeAll(async () => {
    attempts = await attemptEach(FAILURES);
  });
  test.each(FAILURES.map(([what, ...expected], row) => [what, expected, row] as const))(
    "%s",
    (_what, [result, code, address], row) => {
      expect(attempts[row]).toMatchObject({ attempt: 1, status: code });
      expect([result].flat()).toContain(attempts[row]?.result);
      // A connection that broke early may not have an address to tell any more.
      if (address !== "") expect(attempts[row]?.address).toBe(address);
      expect(attempts[row]?.latencyMs).toBeLessThan(4_000);
    },
  );
});

test("a name that DNS never answers for is a failure of DNS within the 5 seconds", async () => {
  const [attempt] = await attemptEach([["", DNS, 0, "", name("silence")]]);
  expect(attempt).toMatchObject({ result: DNS, status: 0, address: "" });
  // By its result it failed before the deadline; when that was noted is the machine's to say, too.
  expect(attempt?.latencyMs).toBeLessThan(DEADLINE_MS + BUSY_MS);
});

test("an answer's body is of no interest: a long one is not read, and a 2xx stays a success", async () => {
  const floods = [flood(), flood({ declared: true })];
  const attempts = await attemptEach(floods.map((each) => ["", SUCCESS, 200, "", answer(each)]));
  expect(attempts.map(({ result, status: code }) => [result, code])).toEqual([
    [SUCCESS, 200],
    [SUCCESS, 200],
  ]);
  for (const { sent } of floods) expect(sent).toBeLessThan(30_000_000);
});

test("a body of a few KB is read to its end, and the connection is used again", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(200, { body: "x".repeat(8_000) }));
  const message = { id: MESSAGE_ID, kind: MessageKind.CARD, text: "x" };
  for (let i = 1; i <= 3; i++) {
    await push.publish({ workspaceId: bridge.workspaceId, content: update("c1", message) });
    await push.logged(bridge.workspaceId, i);
  }
  expect(bridge.connections).toHaveLength(1);
});

interface DripServer {
  readonly port: number;
  close(): Promise<void>;
}

/** A server that begins a TLS record and sends a byte of it now and then. */
async function startDripServer(): Promise<DripServer> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {});
    // A handshake record of 16 KB, whose server hello says it is as long.
    socket.write(Buffer.from([0x16, 0x03, 0x03, 0x40, 0x00, 0x02, 0x00, 0x3f, 0xfc, 0x03, 0x03]));
    const timer = setInterval(() => socket.write("x"), 300);
    socket.once("close", () => {
      clearInterval(timer);
      open.delete(socket);
    });
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
