import { setImmediate as nextTurn } from "node:timers/promises";

/** Milliseconds by which the fake clock advances after every `TURNS` turns of the event loop. */
const STEP_MS = 25;
const TURNS = 3;

/**
 * Returns `node:timers/promises` with a `setTimeout` that uses the fake clock. For `jest.mock`. The `setTimeout`
 * resolves early when `signal` is aborted.
 */
export function fakeTimersPromises(): object {
  return {
    ...jest.requireActual<object>("node:timers/promises"),
    setTimeout: (ms: number, _value?: unknown, { signal }: { readonly signal?: AbortSignal } = {}) =>
      new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", end);
          resolve();
        };
        const timer = setTimeout(end, ms);
        signal?.addEventListener("abort", end);
      }),
  };
}

/** Runs `work` on a fake clock, so that only requests take real time. */
export async function onFakeClock<T>(work: () => Promise<T>): Promise<T> {
  jest.useFakeTimers({
    doNotFake: ["hrtime", "nextTick", "queueMicrotask", "setImmediate", "clearImmediate"],
  });
  const time = { isOver: false };
  const ended = work().finally(() => (time.isOver = true));
  try {
    while (!time.isOver) {
      for (let i = 0; i < TURNS; i++) await nextTurn();
      await jest.advanceTimersByTimeAsync(STEP_MS);
    }
    return await ended;
  } finally {
    jest.useRealTimers();
  }
}
