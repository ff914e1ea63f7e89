import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** One request, to be answered in whatever way. */
export interface Exchange {
  readonly response: ServerResponse;
  /** What HTTP is spoken over: TLS, or TCP where the receiver is a plain one. */
  readonly stream: Duplex;
  /** The TCP connection below. */
  readonly tcp: Socket;
}

/** How a request is answered, or is not. */
export interface Behaviour {
  answer(exchange: Exchange): void;
}

/** Answers a status code, with an empty body unless one is given. */
export function status(
  code: number,
  options: { afterMs?: number; headers?: Record<string, string>; body?: string | Buffer } = {},
): Behaviour {
  return {
    answer({ response }) {
      const respond = () => {
        response.writeHead(code, options.headers);
        response.end(options.body);
      };
      if (options.afterMs === undefined) return respond();
      const timer = setTimeout(respond, options.afterMs);
      response.once("close", () => clearTimeout(timer));
    },
  };
}

export function redirect(location: string, code = 302): Behaviour {
  return status(code, { headers: { Location: location } });
}

/** Requests that wait for their answer until the test gives it. */
export interface HeldAnswers extends Behaviour {
  readonly waiting: number;
  /** Answers the first so many of them, all by default, with a status. */
  release(code: number, count?: number): void;
}

export function holdAnswers(): HeldAnswers {
  const held: ServerResponse[] = [];
  return {
    get waiting() {
      return held.length;
    },
    answer: ({ response }) => void held.push(response),
    release(code, count = held.length) {
      for (const response of held.splice(0, count)) response.writeHead(code).end();
    },
  };
}

/** Takes the request and says nothing. */
export function sayNothing(): Behaviour {
  return { answer() {} };
}

/** Sends the headers of a 200 and the first byte of ten, no more. */
export function stopInBody(): Behaviour {
  return raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx");
}

/** Sends the headers of a 200 that promise a body, and nothing of it. */
export function headersOnly(): Behaviour {
  return raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
}

/** Sends the first chunk of a chunked body and never its end. */
export function neverEnd(): Behaviour {
  return raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
}

/** Sends the headers of a 200, then a byte of the body every so often, for ever. */
export function dripBody(everyMs = 1000): Behaviour {
  return drip("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "x", everyMs);
}

/** Sends a byte of a header every so often, for ever: a 200 whose headers never end. */
export function dripHeaders(everyMs = 1000): Behaviour {
  return drip("HTTP/1.1 200 OK\r\nX-Slow: ", "x", everyMs);
}

/** Sends an interim answer (103) every so often, and never a final one. */
export function hintForEver(everyMs = 1000): Behaviour {
  return drip("", "HTTP/1.1 103 Early Hints\r\n\r\n", everyMs);
}

function drip(first: string, again: string, everyMs: number): Behaviour {
  return {
    answer({ stream, tcp }) {
      stream.write(first + again);
      const timer = setInterval(() => stream.write(again), everyMs);
      tcp.once("close", () => clearInterval(timer));
    },
  };
}

/** A behaviour that counts the bytes of body that went out, over all requests it answered. */
export interface Flood extends Behaviour {
  /**
   * Bytes of body that the system took for the client. What the client read is
   * less by what fits in the buffers of two sockets: a few MB on loopback.
   */
  readonly sent: number;
}

/** Answers 200 with a long body, as fast as it is taken: chunked, or with its length declared. */
export function flood(
  options: { bytes?: number; declared?: boolean; headers?: Record<string, string> } = {},
): Flood {
  const { bytes = 1_000_000_000, declared = false, headers = {} } = options;
  const block = Buffer.alloc(64 * 1024, "x");
  let sent = 0;
  return {
    get sent() {
      return sent;
    },
    answer({ response }) {
      response.writeHead(200, declared ? { ...headers, "Content-Length": bytes } : headers);
      const write = (left: number): void => {
        if (left === 0) {
          response.end();
          return;
        }
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

/** Ends the connection with a TCP reset. */
export function reset(): Behaviour {
  return { answer: ({ tcp }) => void tcp.resetAndDestroy() };
}

/** Closes the connection in an orderly way, without an answer. */
export function closeWithoutAnswer(): Behaviour {
  return { answer: ({ stream }) => void stream.end() };
}

/** Answers something that is not HTTP. */
export function garbage(): Behaviour {
  return raw("SSH-2.0-this is not a web server\r\n\r\n");
}

/** Answers 200 with a header of so many bytes. */
export function hugeHeaders(bytes = 1_000_000): Behaviour {
  return raw(`HTTP/1.1 200 OK\r\nX-Huge: ${"x".repeat(bytes)}\r\nContent-Length: 0\r\n\r\n`);
}

/** Writes just these bytes and leaves the connection open. */
export function raw(bytes: string | Buffer): Behaviour {
  return { answer: ({ stream }) => void stream.write(bytes) };
}
