import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/**
 * How a server answers requests; some behaviours never answer. `stream` is the TLS socket, or the same socket as `tcp`
 * for plain HTTP.
 */
export interface Behaviour {
  answer(exchange: {
    readonly response: ServerResponse;
    readonly stream: Duplex;
    readonly tcp: Socket;
  }): void;
}

/** Answers with a status code, and with an empty body unless `body` is given. */
export function status(
  code: number,
  options: { afterMs?: number; headers?: Record<string, string>; body?: string | Buffer } = {},
): Behaviour {
  return {
    answer({ response }) {
      const respond = () => void response.writeHead(code, options.headers).end(options.body);
      if (options.afterMs === undefined) return respond();
      const timer = setTimeout(respond, options.afterMs);
      response.once("close", () => clearTimeout(timer));
    },
  };
}

export const redirect = (location: string, code: number) => status(code, { headers: { Location: location } });

export type HeldAnswers = ReturnType<typeof holdAnswers>;

/** Makes requests wait until the test calls `release`. */
export function holdAnswers() {
  const held: ServerResponse[] = [];
  return {
    get waiting() {
      return held.length;
    },
    answer: ({ response }: { readonly response: ServerResponse }) => void held.push(response),
    /** Answers the first `count` waiting requests with a status code; by default, answers all of them. */
    release(code: number, count = held.length) {
      for (const response of held.splice(0, count)) response.writeHead(code).end();
    },
  };
}

export const sayNothing = (): Behaviour => ({ answer() {} });

/** Writes exactly these bytes, and leaves the connection open. */
export const raw = (bytes: string): Behaviour => ({ answer: ({ stream }) => void stream.write(bytes) });

export const garbage = () => raw("SSH-2.0-this is not a web server\r\n\r\n");

export const reset = (): Behaviour => ({ answer: ({ tcp }) => void tcp.resetAndDestroy() });

export const closeWithoutAnswer = (): Behaviour => ({ answer: ({ stream }) => void stream.end() });

/** Writes `first` and `again`, and then repeats `again` every `everyMs` until the connection closes. */
export function drip(first: string, again: string, everyMs: number): Behaviour {
  return {
    answer({ stream, tcp }) {
      stream.write(first + again);
      const timer = setInterval(() => stream.write(again), everyMs);
      tcp.once("close", () => clearInterval(timer));
    },
  };
}

/** Answers with 200 and a long body, as fast as the client reads. The body is chunked, or has a declared length. */
export function flood({ bytes = 1_000_000_000, declared = false } = {}) {
  const block = Buffer.alloc(64 * 1024, "x");
  let sent = 0;
  return {
    /**
     * Total number of body bytes, in all requests, that the operating system has accepted for the client. The client
     * may have read fewer bytes. The difference is at most what the buffers of two sockets can hold: a few MB on
     * loopback.
     */
    get sent() {
      return sent;
    },
    answer({ response }: { readonly response: ServerResponse }) {
      response.writeHead(200, declared ? { "Content-Length": bytes } : {});
      const write = (left: number): void => {
        if (left === 0) return void response.end();
        const size = Math.min(left, block.length);
        response.write(block.subarray(0, size), (error) => {
          if (error != null) return;
          sent += size;
          write(left - size);
        });
      };
      write(bytes);
    },
  };
}
