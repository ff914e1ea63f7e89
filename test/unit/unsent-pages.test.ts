import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { createTurns } from "../../edge/public/request-turns";
import { createUnsentPages, type UnsentPages } from "../../edge/public/unsent-pages";
import { rawRequest } from "../harness/raw-http";
import { until } from "../harness/wait";

/** More bytes than the system buffers for a connection. */
const PAGE = Buffer.alloc(16 * 1_048_576, "x");
const OWNER = { workspaceId: "w1", address: "a1" };

/** Converts three bounds from pages to bytes: in total, per workspace and per address. */
const room = (all: number, workspace: number, address: number) => ({
  all: all * PAGE.length,
  workspace: workspace * PAGE.length,
  address: address * PAGE.length,
});

let server: Server;
let unsent: UnsentPages;

/** Starts a server with paths of the form /<workspace>/<address>. */
async function start(of = room(2, 2, 2)): Promise<void> {
  unsent = createUnsentPages(of);
  const takeTurn = createTurns();
  server = createServer((request, response) => {
    const [, workspaceId = "", address = ""] = request.url?.split("/") ?? [];
    const answer = (): void => {
      if (unsent.add(response, PAGE.length, { workspaceId, address })) response.end(PAGE);
      else response.writeHead(503).end();
    };
    takeTurn(response, answer, () => address);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
}
afterEach(() => {
  for (const page of pages.splice(0)) page.destroy();
  unsent.close();
  server.closeAllConnections();
  server.close();
  jest.useRealTimers();
});

const pages: IncomingMessage[] = [];

/** Sends a request, and returns the answer as soon as its head arrives. The body is not read. */
function ask(path = "/w1/a1"): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { port } = server.address() as AddressInfo;
    get({ port, path, agent: false }, (page) => {
      pages.push(page);
      resolve(page);
    }).on("error", reject);
  });
}

test.each([
  ["for all pages", room(2, 9, 9), "/w2/a2", undefined],
  ["for each workspace", room(9, 2, 9), "/w1/a2", "/w2/a1"],
  ["for each address", room(9, 9, 2), "/w2/a1", "/w1/a2"],
])(
  "with a limit %s, a page counts until it is sent or its connection is closed, and a page over the limit is rejected",
  async (_whose, of, refused, served) => {
    await start(of);
    const first = await ask();
    const second = await ask();
    expect(unsent.bytes).toBe(2 * PAGE.length);
    expect((await ask(refused)).statusCode).toBe(503);
    if (served !== undefined) (await ask(served)).destroy();
    await until("only the first two pages count", () => unsent.bytes === 2 * PAGE.length);

    let bytes = 0;
    for await (const chunk of first as AsyncIterable<Buffer>) bytes += chunk.length;
    expect(bytes).toBe(PAGE.length);
    await until("the page that was read no longer counts", () => unsent.bytes === PAGE.length);
    second.destroy();
    await until("the page of the closed connection no longer counts", () => unsent.bytes === 0);
    expect((await ask(refused)).statusCode).toBe(200);
  },
);

// time: controlled
test("a page that the client has not read within a minute is dropped, together with the connection", async () => {
  const sockets = ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "nextTick"] as const;
  jest.useFakeTimers({ doNotFake: [...sockets, "queueMicrotask", "hrtime", "Date"] });
  await start();
  const page = await ask();
  const ended = once(page, "error");
  jest.advanceTimersByTime(59_000);
  expect([unsent.bytes, page.socket.destroyed]).toEqual([PAGE.length, false]);
  jest.advanceTimersByTime(2_000);
  await until("the page no longer counts", () => unsent.bytes === 0);
  page.resume();
  expect((await ended)[0]).toMatchObject({ code: "ECONNRESET" });
});

test("a page that fits into the system's buffers is not counted", async () => {
  await start(room(0, 0, 0));
  expect(unsent.add({} as ServerResponse, 16_384, OWNER)).toBe(true);
  expect(unsent.bytes).toBe(0);
});

test("pages of closed connections do not count, even pipelined pages", async () => {
  await start();
  const { port } = server.address() as AddressInfo;
  const request = rawRequest("GET", "/w1/a1");
  const several = connect(port, "127.0.0.1").pause();
  several.write(Buffer.concat([request, request, request]));
  await until("the first page is being sent", () => unsent.bytes > 0);
  expect(unsent.bytes).toBe(PAGE.length);
  several.destroy();
  await until("no page counts", () => unsent.bytes === 0);

  const gone = connect(port, "127.0.0.1");
  const asked = once(server, "request") as Promise<[IncomingMessage, ServerResponse]>;
  gone.write(request);
  const [, response] = await asked;
  gone.destroy();
  await until("the connection is closed", () => response.req.socket.destroyed && response.closed);
  expect(unsent.add(response, PAGE.length, OWNER)).toBe(true);
  expect(unsent.bytes).toBe(0);
});
