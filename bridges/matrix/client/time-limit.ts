/**
 * Runs `task` with a signal that is aborted when `signal` is aborted or when `withinMs` milliseconds have passed. In
 * Node 20, a signal of `AbortSignal.timeout` can be collected as garbage while only `AbortSignal.any` uses it, and then
 * it never fires. So this function uses a timer, which keeps a reference to the signal.
 *
 * @param withinMs at most 2^31 - 1; undefined for no limit
 */
export async function withTimeLimit<T>(
  withinMs: number | undefined,
  signal: AbortSignal | undefined,
  task: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const abort = (): void => late.abort(new DOMException("the time limit has passed", "TimeoutError"));
  const timer = withinMs === undefined ? undefined : setTimeout(abort, withinMs);
  try {
    return await task(signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]));
  } finally {
    clearTimeout(timer);
  }
}
