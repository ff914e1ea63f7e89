import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** The exclusive use of a folder. */
export interface FolderLock {
  /** Whether an earlier process exited without releasing its lock, e.g. because it was killed. */
  readonly wasAbandoned: boolean;
  /** Releases the lock. Repeated calls have no effect. */
  release(): void;
}

/** Thrown when another process, or another part of this process, uses a folder. */
export class FolderInUse extends Error {
  override readonly name = "FolderInUse";
  constructor(
    readonly folder: string,
    /** The id of the process that uses the folder; undefined if that process does not answer, e.g. while it is stopped. */
    readonly pid: number | undefined,
  ) {
    super(`${holderOf(pid)} uses the folder ${folder}: stop that process, or choose another folder`);
  }
}

/** Returns a phrase that names the process that uses a folder. */
export function holderOf(pid: number | undefined): string {
  if (pid === process.pid) return `another part of this process (pid ${pid})`;
  return pid === undefined ? "another process" : `another process (pid ${pid})`;
}

/** The socket name of a process that holds the lock or waits for it. A name is never used again. */
const SOCKET_FORM = /^lock-[0-9a-f]{16}\.sock$/;
/** Suffix of the name of a socket that does not listen yet. */
const UNFINISHED = ".new";
/** Longest path of a socket, in bytes, that every system accepts. */
const PATH_MAX_BYTES = 100;
const ANSWER_WITHIN_MS = 5_000;
const ASK_AGAIN_MS = 10;
const CONNECTIONS_MAX = 16;

/**
 * Acquires the lock of a folder, and creates the folder if it does not exist. The system releases the lock when the
 * process exits for any reason. Rejects with `FolderInUse` while another process holds the lock.
 *
 * The lock works between processes of one machine, even if they use different paths to the folder.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.platform === "win32") return lockByPipe(folder);
  const sockets = shortPathOf(folder);
  const candidate = new Candidate(folder, sockets.path);
  try {
    return await candidate.acquire();
  } catch (error) {
    candidate.release();
    throw error;
  } finally {
    sockets.close();
  }
}

type State =
  | { readonly is: "new" }
  | { readonly is: "waiting"; readonly server: Server }
  | { readonly is: "holding"; readonly server: Server }
  | { readonly is: "released" };

const NEXT: Readonly<Record<State["is"], readonly State["is"][]>> = {
  new: ["waiting", "released"],
  waiting: ["holding", "released"],
  holding: ["released"],
  released: [],
};

/**
 * A process that competes for the lock of a folder, or holds it.
 *
 *     new ──listens──▶ waiting ──all others are gone──▶ holding
 *      │                  │                                │
 *      └──────────────────┴───────release()──▶ released ◀──┘
 *
 * Each candidate first listens on its own socket, and then asks the sockets of all others. So at least one of two
 * candidates sees the other. A candidate fails if another one holds the lock, or waits and has a name that sorts lower.
 * A socket that refuses connections belongs to a process that has exited. Its name is never used again, so it can be
 * removed safely.
 */
class Candidate implements FolderLock {
  readonly #folder: string;
  /** A path to the folder that is short enough for sockets. */
  readonly #sockets: string;
  readonly #name = `lock-${randomBytes(8).toString("hex")}.sock`;
  #state: State = { is: "new" };
  #wasAbandoned = false;

  constructor(folder: string, sockets: string) {
    // The path is resolved now, because the working directory can change before the lock is released.
    this.#folder = resolve(folder);
    this.#sockets = sockets;
  }

  get wasAbandoned(): boolean {
    return this.#wasAbandoned;
  }

  async acquire(): Promise<FolderLock> {
    const server = await this.#listen();
    this.#enter({ is: "waiting", server });
    const others = readdirSync(this.#folder).filter((name) => SOCKET_FORM.test(name) && name !== this.#name);
    for (const other of others) await this.#untilGone(other);
    this.#enter({ is: "holding", server });
    return this;
  }

  release(): void {
    if (this.#state.is === "released") return;
    const server = "server" in this.#state ? this.#state.server : undefined;
    this.#enter({ is: "released" });
    // The socket is removed first, so that no other process finds a socket that refuses connections.
    rmSync(join(this.#folder, this.#name), { force: true });
    server?.close();
  }

  #enter(next: State): void {
    const { is } = this.#state;
    if (!NEXT[is].includes(next.is)) throw new Error(`a lock cannot change from ${is} to ${next.is}`);
    this.#state = next;
  }

  /** The socket gets its name only once it listens, because other candidates remove sockets that refuse connections. */
  async #listen(): Promise<Server> {
    const server = createServer((socket) => this.#answer(socket));
    server.maxConnections = CONNECTIONS_MAX;
    server.unref();
    const path = join(this.#sockets, this.#name);
    try {
      // Processes of other users must be able to connect, too.
      const options = { path: path + UNFINISHED, exclusive: true, readableAll: true, writableAll: true };
      await once(server.listen(options), "listening");
      renameSync(path + UNFINISHED, path);
      return server;
    } catch (error) {
      server.close();
      throw lockFault(this.#folder, error);
    }
  }

  #answer(socket: Socket): void {
    socket.on("error", () => undefined);
    socket.end(`${this.#state.is} ${process.pid}`);
  }

  /**
   * Resolves when the process of a socket has exited or stopped waiting. Rejects if that process holds the lock, or has
   * precedence.
   */
  async #untilGone(other: string): Promise<void> {
    const untilMs = performance.now() + ANSWER_WITHIN_MS;
    for (;;) {
      const answer = await ask(join(this.#sockets, other), untilMs).catch((error: unknown) => {
        throw lockFault(this.#folder, error);
      });
      if (answer === "gone") return;
      if (answer === "abandoned") {
        this.#wasAbandoned = true;
        return rmSync(join(this.#folder, other), { force: true });
      }
      const [is, pid] = answer.split(" ");
      const isLower = is !== "waiting" || other < this.#name;
      const isOver = performance.now() >= untilMs;
      if (isOver || (isLower && is !== "" && is !== "released"))
        throw new FolderInUse(this.#folder, numberOf(pid));
      await sleep(ASK_AGAIN_MS);
    }
  }
}

/**
 * Returns the answer of a socket: its state and the id of its process; "" if there is no answer yet. Returns "gone" if
 * the socket does not exist, and "abandoned" if its process has exited.
 */
async function ask(path: string, untilMs: number): Promise<string> {
  const socket = createConnection(path);
  socket.setTimeout(Math.max(1, untilMs - performance.now()), () => socket.destroy());
  try {
    await once(socket, "connect");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ECONNREFUSED") return "abandoned";
    if (code === "ENOENT") return "gone";
    // A stopped process accepts no connections, so its queue of connections can be full.
    if (code === "EAGAIN" || code === "ECONNRESET") return "";
    throw error;
  }
  return text(socket).catch(() => "");
}

const numberOf = (pid: string | undefined): number | undefined =>
  pid !== undefined && /^\d{1,10}$/.test(pid) ? Number(pid) : undefined;

/** Windows removes a pipe when its process exits, and refuses to create a pipe that already exists. */
async function lockByPipe(folder: string): Promise<FolderLock> {
  const digest = createHash("sha256").update(realpathSync.native(folder).toLowerCase()).digest("hex");
  const path = `\\\\.\\pipe\\chat-bridge-${digest.slice(0, 32)}`;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.end(`holding ${process.pid}`);
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.unref();
  try {
    await once(server.listen({ path, exclusive: true }), "listening");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE" && code !== "EACCES") throw lockFault(folder, error);
    const answer = await ask(path, performance.now() + ANSWER_WITHIN_MS).catch(() => "");
    throw new FolderInUse(resolve(folder), numberOf(answer.split(" ")[1]));
  }
  return { wasAbandoned: false, release: () => void server.close() };
}

/**
 * Returns a path to the folder that is short enough for sockets. If the folder's own path is too long, creates a short
 * link in the system's folder for temporary files. `close` removes the link.
 */
function shortPathOf(folder: string): { readonly path: string; close(): void } {
  const path = resolve(folder);
  if (isShort(path)) return { path, close: () => undefined };
  const parent = mkdtempSync(join(tmpdir(), "cb-"));
  const close = (): void => rmSync(parent, { recursive: true, force: true });
  const link = join(parent, "s");
  symlinkSync(path, link);
  if (isShort(link)) return { path: link, close };
  close();
  throw new Error(`cannot lock the folder ${path}: the path and TMPDIR are too long; choose a shorter path`);
}

function isShort(folder: string): boolean {
  return Buffer.byteLength(join(folder, `lock-${"0".repeat(16)}.sock${UNFINISHED}`)) <= PATH_MAX_BYTES;
}

const NO_SOCKETS = "choose a folder on a local disk, whose file system supports Unix sockets";
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: "make the folder writable for the user of this process",
  EROFS: "choose a folder on a file system that is not read-only",
  EPERM: NO_SOCKETS,
  ENOTSUP: NO_SOCKETS,
  EOPNOTSUPP: NO_SOCKETS,
  EINVAL: NO_SOCKETS,
  ENOSPC: "free space on its disk",
};

function lockFault(folder: string, error: unknown): Error {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const advice = ADVICE[code];
  const words = advice === undefined ? "" : `; ${advice}`;
  return new Error(`cannot lock the folder ${folder}: ${message}${words}`, { cause: error });
}
