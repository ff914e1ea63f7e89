import { checkBridge } from "../../bridge/check/push/check-bridge";
import type { CheckResult } from "../../bridge/check/result";
import { BROKEN_BRIDGES } from "./broken-bridges/broken-bridges";
import { SECRET } from "./broken-bridges/memory-chat";
import { startPlainBridge } from "./broken-bridges/plain-bridge";

/** All at once: most of a check is waiting. */
let results: ReadonlyMap<string, CheckResult>;
beforeAll(async () => {
  const checked = BROKEN_BRIDGES.map(async ({ what, change }): Promise<[string, CheckResult]> => {
    const bridge = await startPlainBridge(change);
    try {
      const { url, observe } = bridge;
      return [what, await checkBridge({ url, observe, secrets: [SECRET], withinMs: 8_000 })];
    } finally {
      await bridge.close();
    }
  });
  results = new Map(await Promise.all(checked));
}, 180_000);

test.each(BROKEN_BRIDGES)(
  "of a bridge that $what the check says so, and how to mend it",
  ({ what, breaks, told }) => {
    const result = results.get(what);
    const failed = (result?.rules ?? []).filter(({ verdict }) => verdict === "failed");
    expect(failed.map(({ id }) => id)).toEqual(breaks);
    expect(result?.ok).toBe(false);
    const [first] = failed;
    expect(first?.verdict === "failed" ? `${first.found}\n${first.mend}` : "").toMatch(told);
  },
);
