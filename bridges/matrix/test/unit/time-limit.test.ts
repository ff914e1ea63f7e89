import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { joinRoom } from "../../client/join-room";
import { MatrixError } from "../../client/matrix-error";
import { withTimeLimit } from "../../client/time-limit";

const LONG_MS = 60_000;
const wait = (signal: AbortSignal): Promise<void> => sleep(LONG_MS, undefined, { signal });

// time: smoke
test("the time limit still aborts a task after a garbage collection", async () => {
  const over = new AbortController();
  const waited = withTimeLimit(100, over.signal, wait).catch((error: Error) => error.name);
  await new Promise(setImmediate);
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  expect(await waited).toBe("AbortError");
});

// time: smoke
test("a join through a server that is down is dropped after a time limit, so that the bridge continues with other rooms", async () => {
  const { signal } = new AbortController();
  const join = () => Promise.reject(new MatrixError(502, "M_UNKNOWN"));
  await expect(joinRoom({ join }, "!room:down.example", { signal, withinMs: 50 })).rejects.toThrow();
});

test("a task is aborted when the caller's signal is aborted; without a limit and a signal, it is never aborted", async () => {
  const over = new AbortController();
  const waited = withTimeLimit(undefined, over.signal, wait).catch((error: Error) => error.name);
  over.abort();
  expect(await waited).toBe("AbortError");
  expect(await withTimeLimit(undefined, undefined, async ({ aborted }) => aborted)).toBe(false);
});
