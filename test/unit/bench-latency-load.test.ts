import { Agent, request, type RequestOptions } from "node:https";
import { connect } from "node:tls";
import {
  Server,
  ServerCredentials,
  status as grpcStatus,
  type sendUnaryData,
  type ServerUnaryCall,
} from "@grpc/grpc-js";
import { createBareReceiver } from "../../bench/load/bare-receiver";
import { listen } from "../../bench/load/receive-pushes";
import { createUnaryCalls } from "../../bench/load/unary-calls";
import { createTestCa } from "../harness/test-ca";

const PATH = "/test.Service/Keep";
const HOST = "127.0.0.1";

describe("unary calls with little work", () => {
  let server: Server;
  let address = "";
  let kept: { readonly message: string; readonly authorization: string }[] = [];
  const bytes = { serialize: (value: Buffer) => value, deserialize: (value: Buffer) => value };

  const start = async (port = 0): Promise<number> => {
    server = new Server();
    const method = { path: PATH, requestStream: false, responseStream: false } as const;
    const definition = {
      Keep: {
        ...method,
        requestSerialize: bytes.serialize,
        requestDeserialize: bytes.deserialize,
        responseSerialize: bytes.serialize,
        responseDeserialize: bytes.deserialize,
      },
    };
    server.addService(definition, {
      Keep({ request: message, metadata }: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) {
        kept.push({ message: message.toString(), authorization: String(metadata.get("authorization")[0]) });
        if (message.toString() === "refuse") done({ code: grpcStatus.INVALID_ARGUMENT, details: "refused" });
        else done(null, Buffer.from("ok"));
      },
    });
    return new Promise((resolve, reject) => {
      server.bindAsync(`${HOST}:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
  };

  beforeEach(async () => {
    kept = [];
    address = `${HOST}:${await start()}`;
  });
  afterEach(() => server.forceShutdown());

  test("the server gets each message with the token, even if the messages together exceed a window", async () => {
    const call = createUnaryCalls(address, PATH, "a-token");
    const messages = Array.from({ length: 400 }, (_, number) => `${number} ${"x".repeat(number * 10)}`);
    await Promise.all(messages.map((message) => call(Buffer.from(message))));
    expect(kept.map(({ message }) => message).toSorted()).toEqual(messages.toSorted());
    expect(new Set(kept.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer a-token"]));
  });

  test("a call also resolves if its status is an error, and a message that is larger than a window is rejected", async () => {
    const call = createUnaryCalls(address, PATH, "a-token");
    await call(Buffer.from("refuse"));
    await expect(call(Buffer.alloc(65_536))).rejects.toThrow("too large for a window");
  });

  test("a call on a connection that the server has closed fails, and a later call opens a new connection", async () => {
    const call = createUnaryCalls(address, PATH, "a-token");
    await call(Buffer.from("before"));
    const port = Number(address.split(":")[1]);
    server.forceShutdown();
    await expect(call(Buffer.from("lost"))).rejects.toThrow();
    await start(port);
    await call(Buffer.from("after"));
    expect(kept.map(({ message }) => message)).toEqual(["before", "after"]);
  });
});

describe("a receiver with little work", () => {
  const ca = createTestCa();
  const got: { readonly path: string; readonly body: string }[] = [];
  const { key, cert } = ca.issue([HOST]);
  const server = createBareReceiver({ key: key.toString(), cert: cert.toString() }, async (path, body) => {
    got.push({ path, body: body.toString() });
    return path === "/slow" ? 500 : 204;
  });
  let port = 0;
  beforeAll(async () => {
    port = await listen(server);
  });
  afterAll(() => {
    server.close();
    ca.close();
  });

  test("the receiver answers requests one after another over one connection, with the chosen status", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const options: RequestOptions = {
      host: HOST,
      port,
      method: "POST",
      agent,
      ca: ca.cert,
    };
    const post = (path: string, body: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        request({ ...options, path, headers: { "Content-Length": body.length } }, (answer) => {
          answer.resume();
          answer.on("end", () => resolve(answer.statusCode));
        })
          .on("error", reject)
          .end(body);
      });
    const large = "x".repeat(100_000);
    expect([await post("/events", large), await post("/slow", "b"), await post("/events", "")]).toEqual([
      204, 500, 204,
    ]);
    expect(got).toEqual([
      { path: "/events", body: large },
      { path: "/slow", body: "b" },
      { path: "/events", body: "" },
    ]);
    agent.destroy();
  });

  test("the receiver closes a connection that sends anything but a request with a Content-Length", async () => {
    for (const bytes of ["POST / HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(9_000)]) {
      const socket = connect({ host: HOST, port, ca: ca.cert });
      socket.write(bytes);
      await new Promise((resolve) => socket.once("close", resolve));
    }
  });
});
