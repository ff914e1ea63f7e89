import { createServer, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import { connect, type AddressInfo, type Socket } from "node:net";
import { promisify } from "node:util";
import { createPublicListener } from "../../edge/public/public-listener";
import { createTurns, type WaitingMax } from "../../edge/public/request-turns";
import { parseAnswers, rawRequest } from "../harness/raw-http";
import { until } from "../harness/wait";

/** More bytes than the system buffers for a connection. */
const LARGE = Buffer.alloc(16 * 1_048_576, "x");
const GET = rawRequest("GET", "/");

let server: Server;
let client: Socket;
/** The number of parsed requests, and the response objects of the started requests. */
let parsed: number;
let started: ServerResponse[];

/** Starts a server that answers the requests of a connection in order, and connects a client that reads nothing yet. */
async function start(answer: (response: ServerResponse) => void, max?: WaitingMax): Promise<void> {
  [parsed, started] = [0, []];
  const takeTurn = createTurns(max);
  server = createServer((_request, response) => {
    parsed += 1;
    const addressOf = (): string => response.req.socket.remoteAddress ?? "";
    const begin = (): void => {
      started.push(response);
      answer(response);
    };
    takeTurn(response, begin, addressOf);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  client = connectTo();
}

/** Connects a client that reads nothing yet. */
function connectTo(localAddress = "127.0.0.1"): Socket {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: "127.0.0.1", localAddress }).pause();
  return socket.on("error", () => undefined);
}
afterEach(() => {
  client.destroy();
  server.closeAllConnections();
  server.close();
});

/** Reads until `count` answers have arrived, and returns their statuses. */
async function readAnswers(count: number): Promise<readonly number[]> {
  const received: Buffer[] = [];
  client.on("data", (chunk: Buffer) => received.push(chunk)).resume();
  const answers = () => parseAnswers(Buffer.concat(received));
  await until(`${count} answers`, () => answers().length === count);
  return answers().map(({ status }) => status);
}

test("pipelined requests are started in the order of arrival, each after the previous answer was sent", async () => {
  const left: boolean[] = [];
  await start((response) => {
    left.push(started.slice(0, -1).every(({ writableFinished }) => writableFinished));
    response.writeHead(200 + started.length, { "Content-Length": LARGE.length }).end(LARGE);
  });
  client.write(Buffer.concat([GET, GET, GET]));
  await until("all requests are parsed", () => parsed === 3);
  expect(started).toHaveLength(1);
  expect(await readAnswers(3)).toEqual([201, 202, 203]);
  expect(left).toEqual([true, true, true]);
});

test("a request is never started if its connection closes before its turn", async () => {
  await start((response) => void response.end(LARGE));
  client.write(Buffer.concat([GET, GET]));
  await until("both requests are parsed", () => parsed === 2);
  client.destroy();
  await until("the first answer is dropped", () => started[0]?.closed);
  expect(started).toHaveLength(1);
});

test("2,000 pipelined requests with bodies are all answered, because the server stops reading while a request waits for its turn", async () => {
  await start((response) => {
    response.req.resume().on("end", () => setImmediate(() => response.end()));
  });
  const posts = 2_000;
  client.write(
    Buffer.concat(Array.from({ length: posts }, () => rawRequest("POST", "/", {}, "x".repeat(100)))),
  );
  expect(await readAnswers(posts)).toHaveLength(posts);
});

test("a connection with too many waiting requests is closed, and its requests no longer count toward the limit", async () => {
  await start(() => undefined, { onConnection: 3, address: 5, all: 5 });
  const endsAfter = async (socket: Socket, requests: number) => {
    socket.write(Buffer.concat(Array.from({ length: requests }, () => GET)));
    await once(socket.resume(), "close");
  };
  await endsAfter(client, 5);
  const others = [connectTo(), connectTo()];
  for (const other of others) other.write(Buffer.concat([GET, GET, GET]));
  await until("four requests wait", () => parsed === 5 + 6);
  await endsAfter(connectTo(), 3);
  expect(await promisify(server.getConnections.bind(server))()).toBe(others.length);
  for (const socket of others) socket.destroy();
});

test("if too many requests of an address are waiting, the next connection from this address is closed; other addresses are not affected", async () => {
  await start(() => undefined, { onConnection: 3, address: 4, all: 100 });
  const [one, two, three] = [1, 2, 3].map(() => connectTo("127.0.0.2"));
  for (const socket of [one, two]) socket?.write(Buffer.concat([GET, GET, GET]));
  await until("four requests wait", () => parsed === 6);
  three?.write(Buffer.concat([GET, GET]));
  await once((three as Socket).resume(), "close");
  client.write(Buffer.concat([GET, GET, GET]));
  await until("the requests of the other address wait", () => parsed === 6 + 2 + 3);
  expect([client, one, two].map((socket) => socket?.closed)).toEqual([false, false, false]);
  for (const socket of [one, two]) socket?.destroy();
});

// time: smoke
test("an answer and its connection are dropped if the client reads nothing for too long", async () => {
  const app = createPublicListener({ trustProxy: [], report: jest.fn(), stalledMs: 200 });
  app.get("/", (_request, reply) => reply.send(LARGE));
  await app.listen({ port: 0, host: "127.0.0.1" });
  server = app.server;
  const accepted = once(server, "connection") as Promise<[Socket]>;
  client = connectTo();
  client.write(Buffer.concat([GET, GET]));
  await once((await accepted)[0], "close");
  await app.close();
});
