import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { text } from "node:stream/consumers";
import { StartFault } from "./start-fault";

/** Allows one run at a time in a data folder. */
export interface RunLock {
  /** Whether the previous run was killed. If so, the processes of that run may still be stopping. */
  readonly wasKilled: boolean;
  release(): void;
}

/** Path of the lock's socket. Paths of sockets must be short, so this path is relative. */
const SOCKET = "run.sock";
const ANSWER_WITHIN_MS = 2_000;

/**
 * Acquires the lock of the current folder. The lock is a listening socket, so it is released as soon as the process
 * that holds it exits for any reason. A lock file with a process id could name an unrelated process after a crash.
 * Throws StartFault when another process holds the lock.
 */
export async function takeRunLock(): Promise<RunLock> {
  const wasKilled = existsSync(SOCKET);
  const holder = wasKilled ? await askHolder() : undefined;
  if (holder !== undefined) throw held(holder);
  rmSync(SOCKET, { force: true });
  const server = createServer((socket) => socket.on("error", () => undefined).end(String(process.pid)));
  try {
    await once(server.listen(SOCKET), "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") throw held("just started");
    throw error;
  }
  server.unref();
  return { wasKilled, release: () => void server.close() };
}

function held(holder: string): StartFault {
  return new StartFault(
    `The service is already running in ${process.cwd()} (process ${holder}). ` +
      "Stop it first, or start with another DATA_DIR and other addresses (npm start -- --help).",
  );
}

/** Resolves to the id of the process that listens on the socket; undefined if no process does. */
async function askHolder(): Promise<string | undefined> {
  const socket = createConnection(SOCKET);
  socket.setTimeout(ANSWER_WITHIN_MS, () => socket.destroy(new Error("no answer")));
  try {
    await once(socket, "connect");
  } catch {
    return undefined;
  }
  return (await text(socket).catch(() => "")) || "unknown";
}
