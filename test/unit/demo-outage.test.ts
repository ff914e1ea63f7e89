import { REAL_TIMING } from "../../kit/back-off";
import { createOutage } from "../../demo/chat/link/outage";

// time: controlled
test("a wait that begins while the network is cut ends when the network is restored; other waits are not shortened", async () => {
  const timers: (() => void)[] = [];
  const pause = () => new Promise<void>((resolve) => timers.push(resolve));
  const outage = createOutage({ ...REAL_TIMING, pause });
  const ended: string[] = [];
  function wait(name: string): Promise<void> {
    return outage.timing.pause(8_000, new AbortController().signal).then(() => void ended.push(name));
  }
  const before = wait("before");
  outage.begin();
  const during = [wait("during"), wait("during, too")];
  outage.end();
  const after = wait("after");
  await Promise.all(during);
  expect(ended).toEqual(["during", "during, too"]);

  outage.begin();
  const short = wait("over before the end of the cut");
  timers.at(-1)?.();
  await short;
  for (const timer of timers) timer();
  await Promise.all([before, after]);
  expect(ended.slice(2)).toEqual(["over before the end of the cut", "before", "after"]);
});
