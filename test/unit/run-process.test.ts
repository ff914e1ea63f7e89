import type { Logger } from "pino";
import { runProcess, type Running } from "../../runtime/run-process";

const STOPPING = ["info", "stopping", { signal: "SIGTERM" }];

beforeEach(() => void jest.useFakeTimers());
afterEach(() => {
  for (const signal of ["SIGTERM", "SIGINT"]) process.removeAllListeners(signal);
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** Calls `runProcess` with `close`, and emits `signal`. Returns the log entries, then the exit code. */
async function stop(
  signal: NodeJS.Signals,
  close: () => Promise<void>,
  drain: Partial<Running> = {},
): Promise<readonly unknown[]> {
  const said: unknown[] = [];
  const note = (level: string) => (fields: unknown, text?: string) =>
    said.push([level, ...(text === undefined ? [fields] : [text, fields])]);
  const log = { info: note("info"), error: note("error") } as unknown as Logger;
  const exit = (code: unknown): never => {
    said.push(code);
    throw new Error("the process has exited");
  };
  jest.spyOn(process, "exit").mockImplementation(exit);
  void runProcess(async () => ({ running: { close, ...drain }, log })).catch(() => undefined);
  await jest.advanceTimersByTimeAsync(0);
  process.emit(signal, signal);
  await jest.advanceTimersByTimeAsync(0);
  return said;
}

test.each(["SIGTERM", "SIGINT"] as const)(
  "on %s, a process closes, logs the stop, and exits with 0",
  async (signal) => {
    const said = await stop(signal, async () => undefined);
    expect(said).toEqual([["info", "stopping", { signal }], ["info", "stopped"], 0]);
  },
);

test("if a process fails to close, it logs the reason and exits with 1", async () => {
  const err = new Error("it is stuck");
  const said = await stop("SIGTERM", () => Promise.reject(err));
  expect(said).toEqual([STOPPING, ["error", "could not stop cleanly", { err }], 1]);
});

// time: controlled
test("a process that does not close within ten seconds exits with 1", async () => {
  const said = await stop("SIGTERM", () => new Promise(() => undefined));
  await jest.advanceTimersByTimeAsync(9_999);
  expect(said).toEqual([STOPPING]);
  await expect(jest.advanceTimersByTimeAsync(1)).rejects.toThrow("exited");
  expect(said).toEqual([STOPPING, ["error", "did not stop within 10 seconds: exiting"], 1]);
});

const DRAINING = ["info", "draining", { signal: "SIGTERM", seconds: 20 }];

// time: controlled
test("a draining process immediately reports that it is not ready, begins to close only after the drain, and then has ten seconds to close", async () => {
  const called: string[] = [];
  const close = (): Promise<void> => {
    called.push("close");
    return new Promise(() => undefined);
  };
  const said = await stop("SIGTERM", close, { drainMs: 20_000, beginDrain: () => called.push("drain") });
  expect([said, called]).toEqual([[DRAINING], ["drain"]]);
  await jest.advanceTimersByTimeAsync(19_999);
  expect(called).toEqual(["drain"]);
  await jest.advanceTimersByTimeAsync(1);
  expect([said, called]).toEqual([
    [DRAINING, STOPPING],
    ["drain", "close"],
  ]);
  await jest.advanceTimersByTimeAsync(9_999);
  expect(said).toEqual([DRAINING, STOPPING]);
  await expect(jest.advanceTimersByTimeAsync(1)).rejects.toThrow("exited");
  expect(said.at(-1)).toBe(1);
});

// time: controlled
test.each(["SIGTERM", "SIGINT"] as const)(
  "a second signal, %s, ends the drain early, but the process still closes before it exits",
  async (second) => {
    let finish = (): void => undefined;
    const close = () => new Promise<void>((resolve) => (finish = resolve));
    const said = await stop("SIGTERM", close, { drainMs: 20_000, beginDrain: () => undefined });
    process.emit(second, second);
    await jest.advanceTimersByTimeAsync(0);
    expect(said).toEqual([DRAINING, STOPPING]);
    process.emit(second, second);
    await jest.advanceTimersByTimeAsync(0);
    expect(said).toEqual([DRAINING, STOPPING]);
    finish();
    await jest.advanceTimersByTimeAsync(0);
    expect(said).toEqual([DRAINING, STOPPING, ["info", "stopped"], 0]);
    expect(jest.getTimerCount()).toBe(0);
  },
);
