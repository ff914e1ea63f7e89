import { isIPv4 } from "node:net";
import { ADDRESSES, addressOf } from "../../bench/core-clients";
import { between, parseMachineTimes, withCpu } from "../../bench/cpu";
import { signedPoll, signedPost } from "../../bench/load/signed-requests";
import { WORKSPACES } from "../../bench/parts/http";
import { alternate, resultOf, type Measure, type Round, type Side } from "../../bench/rounds";
import { CONTRACT_LIMITS } from "../../core/domain/bounds";

/** The highest load that the benchmark may reach, in requests per second. */
const REQUESTS_PER_SECOND = 40_000;

const measure = (perSecond: number, cpuUs: number) => {
  const cpu = { core: cpuUs / 2, redis: cpuUs / 2 };
  return { count: perSecond, fromMs: 0, toMs: 1_000, perSecond, cpuUs: cpu };
};

function round(ours: number, reference: number, cost: number): Round {
  return { ours: measure(ours, cost), reference: measure(reference, 1), ratio: ours / reference, cost };
}

test("a benchmark's last line has the median, minimum and maximum cost of its rounds, and the median ratio", () => {
  const rounds = [round(50, 100, 3.25), round(40, 100, 4), round(30, 100, 2.5)];
  const { lastLine, raw } = resultOf(rounds, { of: 1 });
  expect(lastLine).toBe("cost=3.250 min=2.500 max=4.000 ratio=0.400");
  expect(raw).toMatchObject({ of: 1, rounds: [{ cost: 3.25 }, { cost: 4 }, { cost: 2.5 }] });
});

test("the processor time that the host took is the eighth value in /proc/stat, or 0 if that value is missing", () => {
  const stat = "cpu  10 20 30 40 5 6 7 82 1 2\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
  expect(parseMachineTimes(stat)).toEqual({ total: 200, stolen: 82 });
  for (const text of ["", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8"])
    expect(parseMachineTimes(text)).toEqual({ total: 0, stolen: 0 });
});

test("a benchmark measures the service and the reference in turn after a warm-up, and checks each run before the next", async () => {
  const done: string[] = [];
  const side = (name: string, count: number): Side => ({
    pids: { [name]: process.pid },
    async run(seconds) {
      done.push(`${name} ${seconds}`);
      return { count, fromMs: 1_000, toMs: 1_000 + seconds * 1_000 } satisfies Measure;
    },
    async settle(measure) {
      done.push(`${name} had ${measure.count}`);
    },
  });
  const prepare = async () => void done.push("prepare");
  const lines: string[] = [];
  const rounds = await alternate(
    { say: (line) => lines.push(line), options: { rounds: 2, seconds: 3 } },
    { unit: "things", prepare, ours: side("a", 30), reference: side("b", 60) },
  );
  const a = ["a 3", "a had 30"];
  const b = ["b 3", "b had 60"];
  const warmUp = ["prepare", "a 2", "a had 30", "b 2", "b had 60"];
  expect(done).toEqual([...warmUp, "prepare", ...a, ...b, "prepare", ...b, ...a]);
  const rates = rounds.map(({ ours, reference, ratio }) => [ours.perSecond, reference.perSecond, ratio]);
  expect(rates.map(String)).toEqual(Array(2).fill("10,20,0.5"));
  const head = "round, ours things/s, a µs each, reference things/s, b µs each, cost, ratio";
  expect(lines[0]?.trim().split(/ {2,}/)).toEqual(head.split(", "));
});

describe("the processor time of a process", () => {
  const readings = [
    { atMs: 100, times: { core: 1_000, redis: 0 } },
    { atMs: 200, times: { core: 3_000, redis: 0 } },
    { atMs: 300, times: { core: 3_000, redis: 500 } },
  ];

  // time: controlled
  test.each([
    ["from one reading to another", 100, 300, { core: 2_000, redis: 500 }],
    ["that contains a reading", 150, 250, { core: 1_000, redis: 250 }],
    ["between two consecutive readings", 120, 145, { core: 500, redis: 0 }],
    ["that begins before the readings and ends after them", 0, 900, { core: 2_000, redis: 500 }],
  ])("is computed for a period %s", (_what, fromMs, toMs, taken) => {
    expect(between(readings, fromMs, toMs)).toEqual(taken);
  });

  // time: smoke
  test("agrees with the process's own measurement", async () => {
    const fromMs = Date.now();
    const { result, cpuBetween } = await withCpu({ us: process.pid }, async () => {
      const before = process.cpuUsage();
      const taken = (): number => {
        const { user, system } = process.cpuUsage(before);
        return user + system;
      };
      while (taken() < 200_000);
      return taken();
    });
    const { us = 0 } = cpuBetween(fromMs, Date.now());
    // Linux counts CPU time in hundredths of a second, so `us` can be slightly too low.
    expect(us).toBeGreaterThanOrEqual(result - 30_000);
  });
});

const numbers = Array.from({ length: ADDRESSES }, (_, number) => number);

test("the load has enough addresses and workspaces to stay below the rate limits", () => {
  expect(new Set(numbers.map(addressOf)).size).toBe(ADDRESSES);
  expect(numbers.map(addressOf).every(isIPv4)).toBe(true);
  expect(ADDRESSES * CONTRACT_LIMITS.address).toBeGreaterThan(REQUESTS_PER_SECOND);
  expect(WORKSPACES * CONTRACT_LIMITS.workspace).toBeGreaterThan(REQUESTS_PER_SECOND);
});

test("all requests of the load have the same length, and each request has the address of its workspace", () => {
  const workspaces = numbers.map((number) => ({
    id: `00000000-0000-0000-0000-${String(number).padStart(12, "0")}`,
    secret: "secret",
    address: addressOf(number),
  }));
  for (const sign of [signedPost, signedPoll]) {
    const requests = workspaces.map((workspace) => sign(workspace, "x", 1_700_000_000));
    expect(new Set(requests.map(({ length }) => length)).size).toBe(1);
    for (const [number, request] of requests.entries()) {
      expect(request.split("\r\n")).toContain(`X-Forwarded-For: ${addressOf(number)}`);
    }
  }
});
