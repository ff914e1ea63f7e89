import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { StartFault } from "./start-fault";

/** One run at a time in a data folder. */
export interface RunLock {
  /** The run before did not end by itself: what it started may still be going away. */
  readonly wasKilled: boolean;
  release(): void;
}

/** Relative, as the path of a socket must be short. */
const SOCKET = "run.sock";
const ANSWER_WITHIN_MS = 2_000;

/**
 * Takes the lock of the folder that this process is in. The lock is a socket
 * that is listened on, so it is free as soon as its holder is gone, however it
 * went, and no process id has to be believed. Throws StartFault when it is held.
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
    `The service runs already on ${process.cwd()} (process ${holder}). ` +
      "Stop that one first, or start with another DATA_DIR and other addresses (npm start -- --help).",
  );
}

/** The process that listens on the socket, or undefined when it is only a file now. */
function askHolder(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection(SOCKET);
    let said = "";
    let there = false;
    socket.setTimeout(ANSWER_WITHIN_MS, () => socket.destroy());
    socket.on("connect", () => (there = true));
    socket.on("data", (chunk: Buffer) => (said += chunk.toString()));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(there ? said || "unknown" : undefined));
  });
}
