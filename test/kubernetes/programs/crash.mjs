// Makes the main process of its container crash immediately. SIGKILL cannot do this, because process 1 ignores a
// SIGKILL from its own container. Instead, SIGUSR1 makes Node start its debugger, and this program makes the process
// abort through the debugger. Then the container exits, which also ends this program.
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
