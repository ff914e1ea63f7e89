import { once } from "node:events";
import type { ServerHttp2Stream } from "node:http2";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { ServerInterceptor } from "@grpc/grpc-js";
import { createAuthorization } from "../../core/rpc/authorization";
import { streamOf } from "../../core/rpc/incomplete-requests";
import { startBareService } from "../harness/bare-service";

/** A method that requires no token. */
const CHECK = "/grpc.health.v1.Health/Check";

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
  const service = await startBareService(CHECK, keepStream, (call) => {
    calls.push(new WeakRef(call));
    return Buffer.from("served");
  });
  try {
    expect((await service.ask(Buffer.from("hello"))).toString()).toBe("served");
    const [stream] = streams;
    if (stream === undefined) throw new Error("no stream was opened");
    if (!stream.closed || !stream.destroyed) await once(stream, "close");
    // A `WeakRef` keeps its target until the current task has ended.
    await new Promise(setImmediate);
    collect();
    expect(stream.destroyed).toBe(true);
    expect(calls.map((call) => call.deref())).toEqual([undefined]);
  } finally {
    service.close();
  }
});
