import type { Logger } from "pino";
import type { Metrics } from "../../runtime/metrics";
import { createWaker } from "../domain/waker";
import { StoreUnavailable } from "../ports/store-faults";
import type { ServerMemory } from "../ports/backlog";

const LOOK_EVERY_MS = 5_000;
/** A server counts as nearly full when it uses this fraction of its memory. */
const NEARLY_FULL = 0.8;
/** Minimum milliseconds between two warnings about memory that is nearly full. */
const WARN_EVERY_MS = 600_000;
/** Minimum milliseconds between two errors about rejected writes. */
const ERROR_EVERY_MS = 60_000;
/** Milliseconds after a rejected write for which the store counts as full. */
const FULL_FOR_MS = 15_000;

const MB = 1024 * 1024;
const inMb = (bytes: number): string => (bytes / MB).toFixed(0);

/** Watches the memory of Redis, and reports when it is nearly full or full. */
export function addMemoryMetrics({ counter, gauge }: Metrics) {
  let servers: readonly ServerMemory[] = [];
  let rejections = 0;
  let rejectedAt = -Infinity;
  let rejectedWhy = "";
  let log: Logger | undefined;
  let nextErrorAt = -Infinity;
  let nextWarningAt = -Infinity;

  gauge("chatbridge_core_redis_memory_bytes", "Bytes of memory that each Redis master uses.", () =>
    servers.map(({ server, usedBytes }) => ({ labels: { server }, value: usedBytes })),
  );
  gauge(
    "chatbridge_core_redis_memory_max_bytes",
    "Bytes of memory that each Redis master can use: its maxmemory, or REDIS_MEMORY_BYTES; 0 for no limit.",
    () => servers.map(({ server, maxBytes = 0 }) => ({ labels: { server }, value: maxBytes })),
  );
  counter(
    "chatbridge_core_store_full_total",
    "Calls to Redis that were rejected because Redis or a log in Redis is full.",
    () => rejections,
  );

  const isFull = (): boolean => performance.now() - rejectedAt < FULL_FOR_MS;

  function findNearlyFull(): ServerMemory | undefined {
    return servers.find(
      ({ usedBytes, maxBytes }) => maxBytes !== undefined && usedBytes >= NEARLY_FULL * maxBytes,
    );
  }

  /** Returns a warning for operators about the memory of Redis; undefined when there is none. */
  function notice(): string | undefined {
    if (isFull()) return rejectedWhy;
    const server = findNearlyFull();
    if (server?.maxBytes === undefined) return undefined;
    const percent = Math.floor((100 * server.usedBytes) / server.maxBytes);
    return `Redis ${server.server} uses ${percent} percent of its memory (${inMb(server.usedBytes)} of ${inMb(server.maxBytes)} MB): raise maxmemory, or check that bridges poll and games ack`;
  }

  return {
    notice,
    /** Must be called when the store rejects a write because it is full. `why` says what is full, and what to do. */
    rejected(why: string): void {
      rejections += 1;
      rejectedAt = performance.now();
      rejectedWhy = why;
      if (rejectedAt < nextErrorAt) return;
      nextErrorAt = rejectedAt + ERROR_EVERY_MS;
      log?.error({ rejections }, `events are rejected: ${why}`);
    },
    /** Reads the memory every few seconds until `signal` is aborted. */
    async watch(
      readMemory: () => Promise<readonly ServerMemory[]>,
      to: Logger,
      signal: AbortSignal,
    ): Promise<void> {
      log = to;
      const waker = createWaker();
      signal.addEventListener("abort", waker.wake, { once: true });
      while (!signal.aborted) {
        try {
          servers = await readMemory();
        } catch (error) {
          // Any other error means that the Redis user lacks the permission for INFO.
          if (!(error instanceof StoreUnavailable)) servers = [];
        }
        const nearly = isFull() || findNearlyFull() === undefined ? undefined : notice();
        if (nearly !== undefined && performance.now() >= nextWarningAt) {
          nextWarningAt = performance.now() + WARN_EVERY_MS;
          log.warn({}, nearly);
        }
        await waker.wait(LOOK_EVERY_MS);
      }
    },
  };
}
