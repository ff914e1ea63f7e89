import { randomUUID } from "node:crypto";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { signatureOf } from "../harness/bridge";
import { create, message } from "../harness/sample-events";
import type { OddAnswer } from "./rows";

/** Number of bytes after which the stand-in ends an endless answer. A program must close the connection earlier. */
const FLOOD_MAX_BYTES = 256 * 1024 * 1024;
const FLOOD_CHUNK = Buffer.alloc(64 * 1024, "x");
const OK = { "Content-Type": "application/json", Connection: "close" };

interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A request that the stand-in received, and its time in ms since the start of the test process. */
export interface Seen {
  readonly atMs: number;
  readonly what: string;
}

/** One workspace of the stand-in. */
export interface OddWorkspace {
  readonly id: string;
  readonly secret: string;
  /** The channel of all events. */
  readonly channel: string;
  /** All polls, with their `after`. */
  readonly polls: readonly Seen[];
  /** All events from the bridge: the text and the event's id, separated by a space. */
  readonly posts: readonly Seen[];
  /** All pushes to `targetUrl`, with the text of the event. */
  readonly pushes: readonly Seen[];
  /**
   * Faults of the program, e.g. a request with a wrong path or an invalid signature, or an endless answer that the
   * program did not stop reading.
   */
  readonly faults: readonly string[];
  readonly targetUrl: string;
}

export interface WorkspaceOptions {
  /**
   * Odd answers to the polls, in this order. Each is followed by a regular page with one event, whose text is
   * `endOf(name)` with the name of the odd answer. The text of the last event is `endOf("the end")`.
   */
  readonly toPolls?: readonly OddAnswer[];
  /** Names of the events in the regular pages before the first odd answer. The text of an event is `endOf(name)`. */
  readonly events?: readonly string[];
  /**
   * Odd answers to events and pushes, by the text of the event. Only the first `times` requests with that text get the
   * odd answer.
   */
  readonly byText?: ReadonlyMap<string, OddAnswer>;
  /** The channel of the events; `c1` by default. */
  readonly channel?: string;
}

/** Returns the text of the event that follows an odd answer. No such text is part of another. */
export const endOf = (name: string): string => `after ${name}.`;

export type OddService = Awaited<ReturnType<typeof startOddService>>;

/**
 * Starts a stand-in for the service over plain TCP. It gives odd answers to the first requests of a workspace. Its
 * other answers are regular: signed pages to polls, and `202` to correctly signed events. Each connection carries only
 * one answer.
 */
export async function startOddService() {
  const workspaces = new Map<string, (request: Request, socket: Socket) => void>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    let received = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      const before = received;
      received += chunk;
      const request = requestOf(received);
      if (request === undefined || requestOf(before) !== undefined) return;
      const [, , id = ""] = request.path.split("/");
      const answer = workspaces.get(id);
      if (answer === undefined)
        regular(socket, "404 Not Found", '{"statusCode":404,"message":"no workspace"}');
      else answer(request, socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;

  return {
    /** Base address, with a slash at the end: a program must accept the slash. */
    baseUrl: `${url}/`,

    /** Adds a workspace. */
    add({
      events: held = [],
      toPolls = [],
      byText = new Map(),
      channel = "c1",
    }: WorkspaceOptions): OddWorkspace {
      const [id, secret] = [randomUUID(), "s3cret"];
      const [polls, posts, pushes] = [[], [], []] as [Seen[], Seen[], Seen[]];
      const faults: string[] = [];
      /** Number of requests that got an odd answer, by the text of the event. */
      const given = new Map<string, number>();
      /**
       * Names of all events, oldest first; `endOf` turns a name into the event's text. A cursor is the number of events
       * before it.
       */
      const texts = [...held, ...toPolls.map(({ name }) => name), "the end"];
      let oddPolls = 0;

      const odd = (row: OddAnswer, socket: Socket, usual: () => void) =>
        giveOdd(row, { socket, secret, usual, onUnbounded: () => void faults.push(`read on: ${row.name}`) });

      function onPoll({ query }: Request, socket: Socket): void {
        const cursor = new URLSearchParams(query).get("after") ?? "0";
        const [after, most] = cursor === "latest" ? [0, 0] : [Number(cursor), 1];
        const page = (): void => {
          // Each page contains only one event, so that the program gets the next odd answer before the next event.
          const next = Math.min(after + most, texts.length);
          const events = texts.slice(after, next).map((text) => ({
            ...create(next, { workspace: id }),
            channel,
            message: { ...message(next), text: endOf(text) },
          }));
          const hasMore = most > 0 && next < texts.length;
          const body = JSON.stringify({ events, next: String(next), hasMore, gap: false });
          regular(socket, "200 OK", body, { "Service-Signature": signatureOf(secret, body) });
        };
        const row = most > 0 && after === held.length + oddPolls ? toPolls[oddPolls] : undefined;
        if (row === undefined) return page();
        oddPolls += 1;
        odd(row, socket, page);
      }

      function onText(text: string, socket: Socket, usual: () => void): void {
        const row = byText.get(text);
        const times = given.get(text) ?? 0;
        if (row === undefined || times >= (row.times ?? 1)) return usual();
        given.set(text, times + 1);
        odd(row, socket, usual);
      }

      workspaces.set(id, (request, socket) => {
        const { method, path, headers, query, body } = request;
        const atMs = performance.now();
        const signature = headers.get("service-signature") ?? "";
        const [, t = ""] = /^t=([0-9]+),/.exec(signature) ?? [];
        if (signature !== signatureOf(secret, method === "GET" ? query : body, t)) {
          faults.push(`an invalid signature: ${method} ${path}`);
        }
        if (method === "GET" && path === `/hooks/${id}/events`) {
          polls.push({ atMs, what: query });
          return onPoll(request, socket);
        }
        if (method === "POST" && path === `/hooks/${id}`) {
          const { id: eventId = "", text = "" } = JSON.parse(body) as { id?: string; text?: string };
          posts.push({ atMs, what: `${text} ${eventId}` });
          return onText(text, socket, () => regular(socket, "202 Accepted", '{"ok":true}'));
        }
        if (method === "POST" && path === `/pushes/${id}`) {
          const { text } = (JSON.parse(body) as { message: { text: string } }).message;
          pushes.push({ atMs, what: text });
          return onText(text, socket, () => regular(socket, "204 No Content", ""));
        }
        faults.push(`another request: ${method} ${path}`);
        regular(socket, "404 Not Found", '{"statusCode":404,"message":"no such path"}');
      });
      return { id, secret, channel, polls, posts, pushes, faults, targetUrl: `${url}/pushes/${id}` };
    },

    close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function regular(socket: Socket, status: string, body: string, more: Record<string, string> = {}): void {
  const headers = { ...OK, "Content-Length": String(Buffer.byteLength(body)), ...more };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join("")}\r\n${body}`);
}

interface Giving {
  readonly socket: Socket;
  readonly secret: string;
  /** Gives the regular answer. */
  usual(): void;
  /** Called if the program reads more than `FLOOD_MAX_BYTES`. */
  onUnbounded(): void;
}

function giveOdd({ bytes, then }: OddAnswer, { socket, secret, usual, onUnbounded }: Giving): void {
  if (then === undefined) return void socket.end(bytes(secret));
  if (then === "reset") return void socket.write(bytes(secret), () => socket.resetAndDestroy());
  socket.write(bytes(secret));
  if (then === "answer") usual();
  if (then === "flood") flood(socket, onUnbounded);
}

function flood(socket: Socket, onUnbounded: () => void): void {
  let left = FLOOD_MAX_BYTES;
  const more = (): void => {
    while (!socket.destroyed && left > 0) {
      left -= FLOOD_CHUNK.length;
      if (!socket.write(FLOOD_CHUNK)) return;
    }
    if (left > 0) return;
    onUnbounded();
    socket.destroy();
  };
  socket.on("drain", more);
  more();
}

/** Parses the bytes of a request. Returns undefined if the request is incomplete. */
function requestOf(received: string): Request | undefined {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = received.slice(0, end).split("\r\n");
  const headers = new Map(
    lines.map((line) => {
      const [name = "", value = ""] = line.split(/:\s*(.*)/s);
      return [name.toLowerCase(), value] as const;
    }),
  );
  const body = received.slice(end + 4);
  if (Buffer.byteLength(body) < Number(headers.get("content-length") ?? 0)) return undefined;
  const [method = "", target = ""] = first.split(" ");
  const [path = "", query = ""] = target.split(/\?(.*)/s);
  return { method, path, query, headers, body };
}
