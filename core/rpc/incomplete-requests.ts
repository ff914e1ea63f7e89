import { constants, type ServerHttp2Stream } from "node:http2";
import { status, type ServerInterceptingCallInterface } from "@grpc/grpc-js";
import { createShares } from "../../runtime/shares";
import { INCOMPLETE_MAX_BYTES } from "../domain/bounds";
import type { Caller } from "../domain/caller";
import { ownerOf, tooMuch } from "./token-shares";

/** Counts the bytes of one call's incomplete request. */
export interface IncompleteRequest {
  /**
   * Must be called when a request is complete, so that its bytes no longer count. On a stream, the next request then
   * begins.
   */
  release(): void;
  /** Must be called when the call has ended. gRPC may still read the rest of a request, but does not keep it. */
  end(): void;
}

const KB = 1_024;
const MB = 1_048_576;

/**
 * Returns a function that limits the bytes of incomplete requests: of each request, of each token, and of all requests
 * together. gRPC keeps the parts of a request in memory until the request is complete, and does not limit the memory
 * for all calls together. A call above a limit is rejected.
 */
export function createIncompleteRequests() {
  const shares = createShares(INCOMPLETE_MAX_BYTES);
  /**
   * @param caller undefined for a call that does not need a token
   * @param mostBytes maximum bytes of one request
   */
  return (
    call: ServerInterceptingCallInterface,
    caller: Caller | undefined,
    mostBytes: number,
  ): IncompleteRequest => {
    const stream = streamOf(call);
    const owner = ownerOf(caller);
    const acquired: (() => void)[] = [];
    let bytes = 0;
    const release = (): void => {
      bytes = 0;
      for (const each of acquired.splice(0)) each();
    };
    const reject = (code: status, details: string): void => {
      stream.off("data", count);
      call.sendStatus({ code, details });
      // The reset ends a request that never becomes complete. An immediate reset would reach the client before the
      // status.
      setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
      release();
    };
    const count = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > mostBytes) {
        return reject(status.INVALID_ARGUMENT, `the request has more than ${mostBytes / KB} KB`);
      }
      const room = shares.acquire(owner, chunk.length);
      if (typeof room !== "string") {
        acquired.push(room);
        return;
      }
      const requests = `${shares.max[room] / MB} MB of incomplete requests`;
      reject(status.UNAVAILABLE, tooMuch(requests, room, caller));
    };
    // gRPC itself pauses and resumes the stream, and an additional listener does not change this.
    stream.on("data", count);
    return {
      release,
      end() {
        stream.off("data", count);
        release();
      },
    };
  };
}

/**
 * Returns the HTTP/2 stream of a call, which gRPC keeps in a private field. Throws if the field is missing, so that an
 * incompatible release of gRPC makes every call fail.
 */
export function streamOf(call: ServerInterceptingCallInterface): ServerHttp2Stream {
  const { stream } = call as unknown as { readonly stream?: ServerHttp2Stream };
  if (stream === undefined) throw new Error("gRPC's calls no longer have a stream");
  return stream;
}
