// Ends the main process of its pod at once, without a signal that the process could handle: process 1 ignores SIGKILL
// from its own pod. Node opens its debugger at SIGUSR1, and the debugger aborts the process. Then the container ends, and
// this program with it.
import { setTimeout as sleep } from "node:timers/promises";

process.kill(1, "SIGUSR1");
let target;
while (target === undefined) {
  await sleep(50);
  const answer = await fetch("http://127.0.0.1:9229/json").catch(() => undefined);
  [target] = (await answer?.json()) ?? [];
}
const debug = new WebSocket(target.webSocketDebuggerUrl);
debug.addEventListener("open", () => {
  const params = { expression: "process.abort()" };
  debug.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params }));
});
