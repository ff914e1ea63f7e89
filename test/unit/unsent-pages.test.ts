import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import { connect, type AddressInfo, type Socket } from "node:net";
import { createUnsentPages, type UnsentPages } from "../../edge/unsent-pages";
import { until } from "../harness/wait";

const MB = 1_048_576;
const PAGE = Buffer.alloc(8 * MB, "x");

let server: Server;
let unsent: UnsentPages;

async function start(bytesMax: number): Promise<void> {
  unsent = createUnsentPages(bytesMax);
  server = createServer((_request, response) => {
    if (unsent.add(response, PAGE.length)) response.end(PAGE);
    else response.writeHead(503).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
}
afterEach(() => {
  unsent.close();
  server.closeAllConnections();
  server.close();
  jest.useRealTimers();
});

/** The answer to a request, of which nothing is read yet. */
function ask(): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ port: (server.address() as AddressInfo).port, agent: false }, resolve).on("error", reject);
  });
}

test("pages count until they are sent, and pages beyond the limit are refused", async () => {
  await start(20 * MB);
  const first = await ask();
  const second = await ask();
  expect(unsent.bytes).toBe(2 * PAGE.length);
  const third = await ask();
  expect([first.statusCode, second.statusCode, third.statusCode]).toEqual([200, 200, 503]);

  let bytes = 0;
  for await (const chunk of first as AsyncIterable<Buffer>) bytes += chunk.length;
  expect(bytes).toBe(PAGE.length);
  await until("the page that was read counts no more", () => unsent.bytes === PAGE.length);
  second.destroy();
  await until("nor does that of a connection that is gone", () => unsent.bytes === 0);
  expect((await ask()).statusCode).toBe(200);
});

// time: controlled
test("a page that is not taken within a minute is dropped with its connection", async () => {
  const sockets = ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "nextTick"] as const;
  jest.useFakeTimers({ doNotFake: [...sockets, "queueMicrotask", "hrtime", "Date"] });
  await start(20 * MB);
  const page = await ask();
  const ended = once(page, "error");
  jest.advanceTimersByTime(59_000);
  expect([unsent.bytes, page.socket.destroyed]).toEqual([PAGE.length, false]);
  jest.advanceTimersByTime(2_000);
  await until("it counts no more", () => unsent.bytes === 0);
  page.resume();
  expect((await ended)[0]).toMatchObject({ code: "ECONNRESET" });
});

test("a page that fits into the system's buffers is not counted", async () => {
  await start(0);
  expect(unsent.add({} as ServerResponse, 16_384)).toBe(true);
  expect(unsent.bytes).toBe(0);
});

test("pages of closed connections, pipelined ones too, no longer count", async () => {
  await start(200 * MB);
  const { port } = server.address() as AddressInfo;
  const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const connected = once(server, "connection") as Promise<[Socket]>;
  const several = connect(port, "127.0.0.1");
  several.pause().write(request.repeat(20));
  await until("all are begun", () => unsent.bytes === 20 * PAGE.length);
  // Node warns of more, for each connection that it sees them on.
  expect((await connected)[0].listenerCount("close")).toBeLessThan(10);
  several.destroy();
  await until("none counts", () => unsent.bytes === 0);

  const gone = connect(port, "127.0.0.1");
  const asked = once(server, "request") as Promise<[IncomingMessage, ServerResponse]>;
  gone.write(request);
  const [, response] = await asked;
  gone.destroy();
  await until("the connection is gone", () => response.req.socket.destroyed && response.closed);
  expect(unsent.add(response, PAGE.length)).toBe(true);
  expect(unsent.bytes).toBe(0);
});
