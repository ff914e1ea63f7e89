import { once } from "node:events";
import type { ServerHttp2Stream } from "node:http2";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { credentials, makeGenericClientConstructor, Server, ServerCredentials } from "@grpc/grpc-js";
import type { ServerInterceptor, ServiceDefinition, UntypedHandleCall } from "@grpc/grpc-js";
import { createAuthorization } from "../../core/rpc/authorization";
import { streamOf } from "../../core/rpc/incomplete-requests";

const asIs = (bytes: Buffer): Buffer => bytes;
/** A service that requires no token. */
const HEALTH: ServiceDefinition = {
  check: {
    path: "/grpc.health.v1.Health/Check",
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
};

type Check = (request: Buffer, done: (error: Error | null, answer: Buffer) => void) => void;

test("a closed HTTP/2 stream does not keep the call and the request in memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  type Arguments = Parameters<typeof createAuthorization>;
  const tokens = { onReplaced: () => undefined } as unknown as Arguments[0];
  const authorize = createAuthorization(tokens, {} as Arguments[1], () => undefined);
  const streams: ServerHttp2Stream[] = [];
  const keepStream: ServerInterceptor = (method, call) => {
    streams.push(streamOf(call));
    return authorize(method, call);
  };
  const calls: WeakRef<object>[] = [];
  const check = (call: object, answer: (error: null, bytes: Buffer) => void): void => {
    calls.push(new WeakRef(call));
    answer(null, Buffer.from("served"));
  };
  const server = new Server({ interceptors: [keepStream] });
  server.addService(HEALTH, { check: check as UntypedHandleCall });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  const client = new (makeGenericClientConstructor(HEALTH, "Health"))(
    `127.0.0.1:${port}`,
    credentials.createInsecure(),
  );
  try {
    const ask = (client["check"] as Check).bind(client);
    const answer = await new Promise((resolve, reject) =>
      ask(Buffer.from("hello"), (error, bytes) =>
        error === null ? resolve(bytes.toString()) : reject(error),
      ),
    );
    expect(answer).toBe("served");
    const [stream] = streams;
    if (stream === undefined) throw new Error("no stream was opened");
    if (!stream.closed || !stream.destroyed) await once(stream, "close");
    // A `WeakRef` keeps its target until the current task has ended.
    await new Promise(setImmediate);
    collect();
    expect(stream.destroyed).toBe(true);
    expect(calls.map((call) => call.deref())).toEqual([undefined]);
  } finally {
    client.close();
    server.forceShutdown();
  }
});
