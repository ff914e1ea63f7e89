import type { Kind, Outcomes } from "../../bench/neighbours/neighbour";
import { slowdownOf } from "../../bench/neighbours/slowdown";
import { addUp, attempt, Refused } from "../../bench/neighbours/tally";
import { tenantTokens } from "../../bench/neighbours/tenant";
import { readCoreConfig } from "../../core/config";

const outcomes = (latencies: Partial<Record<Kind, readonly number[]>>): Outcomes =>
  Object.fromEntries(
    Object.entries(latencies).map(([kind, latenciesMs]) => [
      kind,
      { accepted: latenciesMs.length, refused: {}, latenciesMs },
    ]),
  ) as unknown as Outcomes;
const times = (count: number, ms: number): readonly number[] => Array<number>(count).fill(ms);

describe("the slowdown by an attack", () => {
  test("the slowdown compares the p99 with and without the attack; each call is first divided by the median of its kind without the attack", () => {
    const alone = outcomes({ post: times(200, 10), poll: times(200, 2), page: times(100, 50) });
    const beside = outcomes({ post: times(200, 10), poll: times(200, 8), page: times(100, 60) });
    const worst = { kind: "poll", aloneMs: 2, besideMs: 8 };
    expect(slowdownOf(alone, beside)).toEqual({ ratio: 4, worst });
  });

  test("the slowdown is relative to the p99 without the attack, which includes slow calls", () => {
    const calls = outcomes({ post: [...times(90, 10), ...times(10, 50)] });
    expect(slowdownOf(calls, outcomes({ post: times(100, 100) })).ratio).toBe(2);
  });

  test("a kind of call with few calls is never named as the worst kind", () => {
    const alone = outcomes({ post: times(100, 10), "sign in": times(19, 1) });
    const beside = outcomes({ post: times(100, 11), "sign in": times(19, 100) });
    expect(slowdownOf(alone, beside)).toMatchObject({ ratio: 100, worst: { kind: "post" } });
  });

  test("the slowdown is infinite if no call of a kind was accepted during the attack", () => {
    const alone = outcomes({ post: times(100, 10), watch: times(20, 10) });
    const beside = outcomes({ post: times(100, 90), watch: [] });
    expect(slowdownOf(alone, beside)).toMatchObject({ ratio: Infinity, worst: { kind: "watch" } });
  });
});

test("an attack makes at most `count` attempts, at most `atOnce` at a time, and counts refused attempts by reason", async () => {
  let inProgress = 0;
  let most = 0;
  const signal = new AbortController().signal;
  const counts = await attempt({ count: 10, atOnce: 3, signal }, async (number) => {
    most = Math.max(most, ++inProgress);
    await new Promise(setImmediate);
    inProgress -= 1;
    if (number === 4) throw Object.assign(new Error("too many"), { code: 8 });
    if (number > 7) throw new Refused("429");
  });
  expect(most).toBe(3);
  expect(counts).toMatchObject({ accepted: 7, refused: { RESOURCE_EXHAUSTED: 1, 429: 2 } });
  expect(addUp([counts, counts])).toEqual({ accepted: 14, refused: { RESOURCE_EXHAUSTED: 2, 429: 4 } });
});

test("an attack makes no attempts after it is aborted", async () => {
  const over = new AbortController();
  const counts = await attempt({ count: 10, atOnce: 1, signal: over.signal }, async (number) => {
    if (number === 2) over.abort();
  });
  expect(counts.accepted).toBe(3);
});

test("core limits the tokens of each tenant to the workspaces of that tenant", () => {
  const workspace = (digit: number) => ({ id: `00000000-0000-4000-8000-00000000000${digit}`, secret: "s" });
  const tenant = (name: string, digit: number) => ({
    name,
    gameToken: `game-token-of-the-tenant-${name}`,
    operatorToken: `operator-token-of-the-tenant-${name}`,
    polled: workspace(digit),
    pushed: workspace(digit + 1),
    address: "127.0.0.2",
  });
  const { tokens } = readCoreConfig({
    REDIS_URL: "redis://127.0.0.1:6379",
    SECRETS_KEY: "00".repeat(32),
    CORE_TOKENS: tenantTokens([tenant("ann", 1), tenant("held-events", 3)]),
  });
  const read = tokens.map(({ role, name, workspaces }) => [role, name, [...(workspaces ?? [])].length]);
  const both = (name: string) => [
    ["game", name, 2],
    ["operator", name, 2],
  ];
  expect(read).toEqual([...both("ann"), ...both("held-events")]);
});
