import type { Logger } from "pino";
import { addMemoryMetrics } from "../../core/metrics/memory-watch";
import { StoreUnavailable } from "../../core/ports/store-faults";
import type { ServerMemory } from "../../core/ports/backlog";
import { createMetrics } from "../../runtime/metrics";

const MB = 1024 * 1024;
const MINUTE_MS = 60_000;

/** Watches a simulated Redis server whose memory the test sets, on jest's fake clock. */
function watched() {
  const lines: string[] = [];
  const write =
    (level: string) =>
    (_fields: object, text: string): void =>
      void lines.push(`${level}: ${text}`);
  const log = { warn: write("warn"), error: write("error") } as unknown as Logger;
  const metrics = createMetrics();
  const watch = addMemoryMetrics(metrics);
  const over = new AbortController();
  let memory: ServerMemory | Error = { server: "redis:6379", usedBytes: 0, maxBytes: 100 * MB };
  const readMemory = async (): Promise<readonly ServerMemory[]> => {
    if (memory instanceof Error) throw memory;
    return [memory];
  };
  const running = watch.watch(readMemory, log, over.signal);
  return {
    ...watch,
    lines,
    metrics,
    async uses(mb: number | Error): Promise<void> {
      memory = mb instanceof Error ? mb : { server: "redis:6379", usedBytes: mb * MB, maxBytes: 100 * MB };
      await jest.advanceTimersByTimeAsync(5_001);
    },
    async stop(): Promise<void> {
      over.abort();
      await jest.advanceTimersByTimeAsync(0);
      await running;
    },
  };
}

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

// time: controlled
test("when Redis uses 80 percent of its memory, core shows a notice and logs a warning every ten minutes", async () => {
  const redis = watched();
  await redis.uses(79.9);
  expect([redis.notice(), redis.lines]).toEqual([undefined, []]);
  await redis.uses(83);
  const words =
    "Redis redis:6379 uses 83 percent of its memory (83 of 100 MB): raise maxmemory, or check that bridges poll and games ack";
  expect([redis.notice(), redis.lines]).toEqual([words, [`warn: ${words}`]]);
  await jest.advanceTimersByTimeAsync(9 * MINUTE_MS);
  expect(redis.lines).toHaveLength(1);
  await jest.advanceTimersByTimeAsync(2 * MINUTE_MS);
  expect(redis.lines).toHaveLength(2);
  await redis.uses(50);
  expect(redis.notice()).toBeUndefined();
  expect(await redis.metrics.text()).toContain(
    `chatbridge_core_redis_memory_bytes{server="redis:6379"} ${50 * MB}`,
  );
  await redis.stop();
});

// time: controlled
test("while Redis rejects writes, core logs one error per minute; it shows a notice until 15 seconds have passed without a rejection", async () => {
  const redis = watched();
  await redis.uses(10);
  for (let second = 0; second < 65; second++) {
    redis.rejected("it is full");
    await jest.advanceTimersByTimeAsync(1_000);
  }
  expect(redis.lines).toEqual([
    "error: events are rejected: it is full",
    "error: events are rejected: it is full",
  ]);
  expect(redis.notice()).toBe("it is full");
  await jest.advanceTimersByTimeAsync(15_000);
  expect(redis.notice()).toBeUndefined();
  expect(await redis.metrics.text()).toContain("chatbridge_core_store_full_total 65");
  await redis.stop();
});

// time: controlled
test("while Redis does not answer, core uses the last known memory; if core may not call INFO, the memory is unknown", async () => {
  const redis = watched();
  await redis.uses(90);
  await redis.uses(new StoreUnavailable("Redis is unavailable"));
  expect(redis.notice()).toBeDefined();
  await redis.uses(new Error("NOPERM"));
  expect(redis.notice()).toBeUndefined();
  await redis.stop();
});
