import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { createShares } from "../../runtime/shares";
import { forAll } from "../harness/for-all";

const MAX = { all: 10, token: 6, address: 4 };

test("if the share of an owner is full, only this owner is refused, and the refusal names the kind of share", () => {
  const shares = createShares(MAX);
  expect(shares.acquire({ token: "a" }, 6)).toBeInstanceOf(Function);
  expect(shares.acquire({ token: "a" })).toBe("token");
  expect(shares.acquire({ token: "b", address: "x" }, 4)).toBeInstanceOf(Function);
  expect(shares.acquire({ token: "b", address: "x" })).toBe("address");
  expect(shares.acquire({ token: "c", address: "y" })).toBe("all");
  expect(shares.used).toBe(10);
});

test("if an amount is released twice, the second release has no effect", () => {
  const shares = createShares(MAX);
  const release = shares.acquire({ token: "a" }, 3);
  shares.acquire({ token: "a" }, 2);
  if (typeof release === "string") throw new Error(`${release} is full`);
  release();
  release();
  expect(shares.used).toBe(2);
});

test("the shares are exact while thousands of owners come and go", () => {
  const shares = createShares(MAX);
  expect(shares.take({ token: "live" }, 3)).toBeUndefined();
  const names = Array.from({ length: 5_000 }, (_, i) => `owner ${i}`);
  for (let turn = 0; turn < 2; turn++) {
    for (const token of names) {
      expect(shares.take({ token, address: "x".repeat(100) }, 4)).toBeUndefined();
      expect(shares.take({ token }, 3)).toBe("token");
      expect(shares.take({ address: "x".repeat(100) }, 1)).toBe("address");
      shares.release({ token, address: "x".repeat(100) }, 4);
    }
  }
  expect(shares.take({ token: "live" }, 4)).toBe("token");
  shares.release({ token: "live" }, 3);
  expect(() => shares.release({ token: "live" }, 3)).toThrow("twice");
  // An amount of 0 does not count for any owner, and can always be released.
  shares.take({ token: "owner 0", address: "x".repeat(100) }, 0);
  expect(shares.take({ token: "owner 0", address: "x".repeat(100) }, 4)).toBeUndefined();
  expect(shares.used).toBe(4);
  shares.release({ token: "owner 0", address: "x".repeat(100) }, 4);
  shares.release({ token: "owner 0", address: "x".repeat(100) }, 0);
  expect(shares.used).toBe(0);
});

test("when an owner is idle, the longer text from which the owner's name was cut does not stay in memory", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const heapMb = (): number => {
    collect();
    return process.memoryUsage().heapUsed / 1_000_000;
  };
  const shares = createShares(MAX);
  const before = heapMb();
  for (let i = 0; i < 1_000; i++) {
    const url = Buffer.from(`/hooks/${String(i).padStart(36, "a")}?${"x".repeat(60_000)}`).toString("latin1");
    const token = url.slice(7, 43);
    expect(shares.take({ token })).toBeUndefined();
    shares.release({ token });
  }
  expect(heapMb() - before).toBeLessThan(20);
  const odd = "\uD800 is half of a character";
  shares.take({ token: odd }, 6);
  expect(shares.take({ token: odd })).toBe("token");
  shares.release({ token: odd }, 6);
  expect(shares.used).toBe(0);
});

test("no maximum is ever exceeded, a request is refused only if a maximum is reached, and released amounts can be acquired again", () => {
  const step = fc.oneof(
    fc.record({
      token: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
      address: fc.option(fc.constantFrom("a", "x", "y"), { nil: undefined }),
      amount: fc.integer({ min: 1, max: 5 }),
    }),
    fc.record({ released: fc.nat() }),
  );
  forAll(fc.array(step, { maxLength: 60 }), (steps) => {
    const shares = createShares(MAX);
    const held: { token?: string; address?: string; amount: number; release: () => void }[] = [];
    const sum = (those: typeof held) => those.reduce((total, { amount }) => total + amount, 0);
    for (const each of steps) {
      if ("released" in each) {
        for (const { release } of held.splice(each.released % (held.length || 1), 1)) release();
        continue;
      }
      const { amount } = each;
      const owners = {
        ...(each.token !== undefined && { token: each.token }),
        ...(each.address !== undefined && { address: each.address }),
      };
      const room = {
        token: owners.token && MAX.token - sum(held.filter(({ token }) => token === owners.token)),
        address:
          owners.address && MAX.address - sum(held.filter(({ address }) => address === owners.address)),
        all: MAX.all - sum(held),
      };
      const full = Object.entries(room).filter(([, left]) => typeof left === "number" && left < amount);
      const acquired = shares.acquire(owners, amount);
      if (typeof acquired === "string") expect(full.map(([kind]) => kind)).toContain(acquired);
      else {
        expect(full).toEqual([]);
        held.push({ ...owners, amount, release: acquired });
      }
      expect(shares.used).toBe(sum(held));
    }
    for (const { release } of held) release();
    for (const token of ["a", "b", "c"]) {
      const again = shares.acquire({ token, address: "x" }, MAX.address);
      expect(again).toBeInstanceOf(Function);
      if (typeof again !== "string") again();
    }
    expect(shares.used).toBe(0);
  });
});
