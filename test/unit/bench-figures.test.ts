import { isIPv4 } from "node:net";
import { ADDRESSES, addressOf } from "../../bench/core-clients";
import { cpuBetween, parseMachineTimes, withCpu, type CpuReading } from "../../bench/cpu";
import { signedPoll, signedPost } from "../../bench/load/signed-requests";
import { WORKSPACES } from "../../bench/parts/http";
import { CONTRACT_LIMITS } from "../../core/domain/bounds";

/** The highest load that the benchmark may reach, in requests per second. */
const REQUESTS_PER_SECOND = 40_000;

test("the processor time that the host took from the machine is the eighth value in /proc/stat, or 0 if that value is missing", () => {
  const stat = "cpu  10 20 30 40 5 6 7 82 1 2\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
  expect(parseMachineTimes(stat)).toEqual({ total: 200, stolen: 82 });
  for (const text of ["", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8"])
    expect(parseMachineTimes(text)).toEqual({ total: 0, stolen: 0 });
});

describe("the processor time of a process", () => {
  const reading = (ticksUs: number, threads?: Record<string, number>): CpuReading => ({
    ticksUs,
    ...(threads === undefined ? {} : { threadsUs: new Map(Object.entries(threads)) }),
  });

  test.each([
    ["the exact time of all its threads", reading(0, { 1: 5, 2: 7 }), reading(0, { 1: 6, 2: 9 }), 3],
    ["also the time of threads that have started", reading(0, { 1: 5 }), reading(0, { 1: 6, 2: 9 }), 10],
    ["counted in ticks if a thread has ended", reading(10, { 1: 5, 2: 7 }), reading(30, { 1: 6 }), 20],
    ["counted in ticks if the kernel does not report exact times", reading(10), reading(30), 20],
  ])("is %s", (_what, from, to, taken) => {
    expect(cpuBetween(from, to)).toBe(taken);
  });

  // time: smoke
  test("the processor time of a process agrees with the process's own measurement", async () => {
    const { result, times } = await withCpu({ us: process.pid }, async () => {
      const before = process.cpuUsage();
      const taken = (): number => {
        const { user, system } = process.cpuUsage(before);
        return user + system;
      };
      while (taken() < 200_000);
      return taken();
    });
    // Linux updates the processor time of a running thread at least a hundred times a second, so `us` can be slightly
    // too low.
    expect(times["us"]).toBeGreaterThanOrEqual(result - 30_000);
  });

  test("the processor time of a process is not a number if the process does not exist", async () => {
    const { times } = await withCpu({ gone: 2 ** 30 }, async () => undefined);
    expect(times).toEqual({ gone: NaN });
  });
});

const numbers = Array.from({ length: ADDRESSES }, (_, number) => number);

test("the load has enough addresses and workspaces to stay below the rate limits", () => {
  expect(new Set(numbers.map(addressOf)).size).toBe(ADDRESSES);
  expect(numbers.map(addressOf).every(isIPv4)).toBe(true);
  expect(ADDRESSES * CONTRACT_LIMITS.address).toBeGreaterThan(REQUESTS_PER_SECOND);
  expect(WORKSPACES * CONTRACT_LIMITS.workspace).toBeGreaterThan(REQUESTS_PER_SECOND);
});

test("all requests of the load have the same length, and each contains the address of its workspace", () => {
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
