import { PushConnection, type PushSocket } from "./push-connection";

/**
 * Maximum number of connections that stay open after their attempts: in total, and to one origin. If there are more,
 * core closes the oldest of these connections.
 */
const KEPT_MAX = { inAll: 1_000, ofOrigin: 250 } as const;

/**
 * Resolves when the event loop has read the sockets. A callback costs less than `setImmediate` from
 * `node:timers/promises`.
 */
const untilRead = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export type PushConnections = ReturnType<typeof createPushConnections>;

/**
 * Connections to bridges that stay open after an attempt, and are reused.
 *
 * @param open opens a connection to the origin of a URL
 */
export function createPushConnections(
  open: (url: URL) => Promise<PushSocket>,
  max: { readonly inAll: number; readonly ofOrigin: number } = KEPT_MAX,
) {
  /**
   * Connections whose attempts have ended, in the order in which the attempts ended. On some of these connections, core
   * is still reading the rest of an answer.
   */
  const kept = new Set<PushConnection>();
  const keptOf = new Map<string, PushConnection[]>();
  let isClosed = false;

  function keep(origin: string, connection: PushConnection): void {
    if (isClosed) return connection.destroy();
    const siblings = keptOf.get(origin) ?? [];
    siblings.push(connection);
    keptOf.set(origin, siblings);
    kept.add(connection);
    if (siblings.length > max.ofOrigin) siblings[0]?.destroy();
    if (kept.size > max.inAll) kept.values().next().value?.destroy();
  }
  function forget(origin: string, connection: PushConnection): void {
    if (!kept.delete(connection)) return;
    const siblings = keptOf.get(origin) ?? [];
    siblings.splice(siblings.lastIndexOf(connection), 1);
    if (siblings.length === 0) keptOf.delete(origin);
  }
  /**
   * Removes and returns the free connection that was released last, because the bridge is likely to close
   * that connection last.
   */
  function take(origin: string): PushConnection | undefined {
    const connection = keptOf.get(origin)?.findLast(({ isFree }) => isFree);
    if (connection !== undefined) forget(origin, connection);
    return connection;
  }

  return {
    /**
     * Resolves to a free connection to a URL's origin: an open connection if one is free, or else a new connection.
     * Rejects with the error of `open`.
     */
    async connect(url: URL): Promise<PushConnection> {
      const { origin } = url;
      // The bridge may have closed an idle connection. Core learns that a connection was closed only when the event
      // loop has read the socket.
      if (keptOf.has(origin)) await untilRead();
      const free = take(origin);
      if (free !== undefined) return free;
      return new PushConnection(await open(url), {
        onReleased: (connection) => keep(origin, connection),
        onClosed: (connection) => forget(origin, connection),
      });
    },
    /** Closes the connections whose attempts have ended, and later each other connection when its attempt ends. */
    close(): void {
      isClosed = true;
      for (const connection of kept) connection.destroy();
    },
  };
}
