import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { ErrorReply } from "@redis/client";
import { StoreUnavailable } from "../../ports/store-faults";
import { EntriesDecoder, type EntriesReply, type StreamEntries } from "./entries-decoder";
import type { Access, Address } from "./url";

export interface EntriesOptions {
  readonly address: Address;
  readonly access: Access;
  /** Additional root certificates for TLS, in PEM. */
  readonly roots: readonly Buffer[] | undefined;
  readonly answerTimeoutMs: number;
  /** Maximum number of unanswered commands. */
  readonly commandsMax: number;
  /** Called with the error of a connection that was lost or could not be opened. */
  onError(error: Error): void;
}

/** A command that has not been answered yet. */
interface Pending {
  /** The `performance.now()` time at which the command was sent. */
  readonly sentAt: number;
  resolve(entries: StreamEntries): void;
  reject(error: Error): void;
}

/** Milliseconds after which an unused connection is closed. */
const IDLE_MS = 60_000;
const NO_ENTRIES: StreamEntries = { values: [], lastId: undefined };

/**
 * Returns a connection for commands that read the entries of a stream. The connection is separate, because the Redis
 * library takes too long to decode large replies (see `EntriesDecoder`). The first command opens the connection. After
 * the connection was lost or closed, the next command opens it again.
 */
export function createEntriesReader(options: EntriesOptions) {
  let current: EntriesConnection | undefined;
  let isClosed = false;
  return {
    /**
     * Sends a command. Rejects with an `ErrorReply` when Redis replies with an error, and with `StoreUnavailable` when
     * the connection is lost or the reply is late.
     */
    async read(args: readonly string[]): Promise<StreamEntries> {
      if (isClosed) throw new StoreUnavailable("the connection to Redis is closed");
      if (current === undefined || current.isOver) current = new EntriesConnection(options);
      return current.read(args);
    },
    close(): void {
      isClosed = true;
      current?.close();
    },
  };
}

class EntriesConnection {
  readonly #options: EntriesOptions;
  readonly #socket: Socket;
  readonly #pending: Pending[] = [];
  /** The commands of this turn of the event loop, which are written together. */
  #unsent = "";
  /** The timer of the first unanswered command; undefined when no command waits for its answer. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EntriesOptions) {
    this.#options = options;
    const { address, access, roots, onError } = options;
    const target = { ...address, noDelay: true, keepAlive: true };
    const socket = access.tls
      ? connectTls({ ...target, ...(roots === undefined ? {} : { ca: [...roots] }) })
      : connectTcp(target);
    this.#socket = socket;
    const decoder = new EntriesDecoder((reply) => this.#onReply(reply));
    let cause: Error | undefined;
    socket
      .setTimeout(IDLE_MS, () => socket.destroy())
      .on("error", (error) => (cause = error))
      .on("close", () => {
        this.#end(cause);
        if (cause !== undefined) onError(cause);
      })
      .on("data", (chunk: Buffer) => {
        try {
          decoder.write(chunk);
        } catch (error) {
          socket.destroy(error as Error);
        }
      });
    const { username, password, database } = access;
    const login =
      password === undefined ? [] : ["AUTH", ...(username === undefined ? [] : [username]), password];
    const select = database === 0 ? [] : ["SELECT", String(database)];
    for (const args of [login, select]) {
      if (args.length > 0) this.read(args).catch((error: Error) => socket.destroy(error));
    }
  }

  /** Whether the connection accepts no more commands. */
  get isOver(): boolean {
    return this.#socket.destroyed;
  }

  read(args: readonly string[]): Promise<StreamEntries> {
    if (this.#pending.length >= this.#options.commandsMax)
      throw new StoreUnavailable("too many commands wait for Redis");
    if (this.#unsent === "") process.nextTick(this.#flush);
    this.#unsent += `*${args.length}\r\n`;
    for (const arg of args) this.#unsent += `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`;
    const sentAt = performance.now();
    if (this.#timer === undefined) this.#awaitAnswer(sentAt, sentAt);
    return new Promise((resolve, reject) => this.#pending.push({ sentAt, resolve, reject }));
  }

  close(): void {
    this.#socket.destroy();
  }

  readonly #flush = (): void => {
    this.#socket.write(this.#unsent);
    this.#unsent = "";
  };

  #onReply(reply: EntriesReply): void {
    const call = this.#pending.shift();
    if (reply.is === "error") call?.reject(new ErrorReply(reply.text));
    else call?.resolve(reply.is === "entries" ? reply.entries : NO_ENTRIES);
  }

  /** Closes the connection if the first unanswered command, sent at `sentAt`, gets no answer in time. */
  #awaitAnswer(sentAt: number, now: number): void {
    const check = (): void => {
      this.#timer = undefined;
      const [first] = this.#pending;
      if (first === undefined) return;
      const checkedAt = performance.now();
      if (checkedAt < first.sentAt + this.#options.answerTimeoutMs)
        this.#awaitAnswer(first.sentAt, checkedAt);
      else this.#socket.destroy(new Error("Redis did not answer in time"));
    };
    this.#timer = setTimeout(check, Math.ceil(sentAt + this.#options.answerTimeoutMs - now));
  }

  #end(cause: Error | undefined): void {
    clearTimeout(this.#timer);
    for (const { reject } of this.#pending.splice(0)) {
      reject(new StoreUnavailable("the connection to Redis was lost", { cause }));
    }
  }
}
