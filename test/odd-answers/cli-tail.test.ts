import { startCli } from "../harness/cli";
import { until } from "../harness/wait";
import { ODD_CALLS, startOddCore, type OddCall } from "./odd-core";

/**
 * Returns how `tail` reacts when its second call gets an odd answer: "continue", or "exit" with a code and a message.
 */
async function reactionTo(odd: OddCall): Promise<string> {
  const core = await startOddCore(odd);
  const tail = startCli("tail events", { role: "game", corePort: core.port });
  let code: number | null | undefined;
  void tail.ended.then((end) => (code = end.code));
  const hasText = (text: string) => tail.lines().some((line) => line.endsWith(`"${text}"`));
  try {
    await until("the tail shows the first event", () => hasText("before"));
    await until("the tail shows the later event, or exits", () => hasText("after") || code !== undefined);
    if (hasText("after")) return "continue";
    return code !== 0 && /^chat-bridge: core .+/m.test(tail.stderr()) ? "exit" : tail.stderr();
  } catch (error) {
    return (error as Error).message;
  } finally {
    tail.interrupt();
    await tail.ended;
    await core.close();
  }
}

test("tail continues after every temporary failure of core or a proxy, and exits with a message after every other failure", async () => {
  const seen = await Promise.all(ODD_CALLS.map(async (odd) => [odd.name, await reactionTo(odd)]));
  expect(Object.fromEntries(seen)).toEqual(
    Object.fromEntries(ODD_CALLS.map(({ name, tail }) => [name, tail])),
  );
});
