import { request, type ClientRequest, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";

/** The result of Node's HTTP client for an answer whose connection stays open. */
export interface NodeAnswer {
  /** The status code; 0 if the head is incomplete, or if Node rejects the head. */
  readonly status: number;
  readonly body: Buffer;
  /** The code of Node's error, or "" if there is none. */
  readonly error: string;
  /** Whether the body is complete. */
  readonly isComplete: boolean;
  /** Whether Node would send another request on the connection. */
  readonly isReusable: boolean;
  /** The number of pieces after which the body was complete; undefined if the body is incomplete. */
  readonly piecesRead: number | undefined;
}

/** Parses answers with Node's HTTP client. Each answer arrives in pieces, on its own connection. */
export async function nodeAnswers(answers: readonly (readonly Buffer[])[]): Promise<readonly NodeAnswer[]> {
  const readers = answers.map(() => openReader());
  // Node begins to read from a socket in a later turn of the event loop.
  await setImmediate();
  for (const [i, reader] of readers.entries()) reader.feed(answers[i] ?? []);
  await setImmediate();
  await setImmediate();
  return readers.map((reader) => reader.close());
}

function openReader() {
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const body: Buffer[] = [];
  let answer: IncomingMessage | undefined;
  let error = "";
  let piecesRead: number | undefined;
  const sent: ClientRequest = request({
    method: "POST",
    host: "bridge.example",
    headers: { "content-length": 0, connection: "keep-alive" },
    createConnection: () => socket,
    maxHeaderSize: 64 * 1024,
  });
  sent.on("error", (reason: NodeJS.ErrnoException) => (error ||= reason.code ?? reason.message));
  sent.on("upgrade", () => (error ||= "UPGRADE"));
  sent.on("response", (response) => {
    answer = response;
    response.on("data", (bytes: Buffer) => body.push(bytes));
    response.on("error", () => undefined);
  });
  sent.shouldKeepAlive = true;
  sent.end();
  return {
    feed(pieces: readonly Buffer[]): void {
      for (const [i, piece] of pieces.entries()) {
        if (socket.destroyed || piecesRead !== undefined) break;
        socket.emit("data", piece);
        if (answer?.complete === true) piecesRead ??= i + 1;
      }
    },
    close(): NodeAnswer {
      const result = {
        status: answer?.statusCode ?? 0,
        body: Buffer.concat(body),
        error,
        isComplete: answer?.complete === true,
        isReusable: sent.shouldKeepAlive,
        piecesRead,
      };
      sent.destroy();
      return result;
    },
  };
}
