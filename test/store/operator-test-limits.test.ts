import { randomUUID } from "node:crypto";
import { testClock, testStore } from "../harness/store";

const SECOND_US = 1_000_000;
const HOUR_S = 3_600;

const store = testStore();
const clock = testClock(store);
const admit = (workspaceId: string | undefined, email?: string) =>
  store.operatorTestLimits.admit(workspaceId, email);

/** Requests tests until the store refuses one. Returns the number of tests that were admitted before the refusal. */
async function passing(workspaceId: string | undefined, email?: string): Promise<number> {
  for (let passed = 0; passed < 100; passed++) if (await admit(workspaceId, email)) return passed;
  return 100;
}

// time: controlled
test("each workspace, and the installation itself, can send 5 tests per minute and 30 per hour; rejected tests do not count", async () => {
  const [one, other] = [randomUUID(), randomUUID()];
  for (const id of [one, undefined]) {
    const of = id === undefined ? "the installation's addresses" : "the workspace's address";
    const began = clock.us;
    for (let i = 0; i < 6; i++) {
      expect(await passing(id)).toBe(5);
      expect(await admit(id)).toEqual({ of, afterSeconds: i === 5 ? HOUR_S - 5 * 60 : 60 });
      if (i < 5) await clock.pass(60 * SECOND_US);
    }
    await clock.set(began + HOUR_S * SECOND_US - 1);
    expect(await admit(id)).toEqual({ of, afterSeconds: 1 });
    await clock.pass(1);
    expect(await passing(id)).toBe(5);
  }
  expect(await passing(other)).toBe(5);
});

// time: controlled
test("one email address gets at most 5 tests per minute, from all workspaces together", async () => {
  await clock.pass(HOUR_S * SECOND_US);
  const ids = [randomUUID(), randomUUID(), randomUUID()];
  expect(await passing(ids[0], "ann@customer.test")).toBe(5);
  expect(await admit(ids[1], "Ann@customer.test")).toEqual({ of: "this email address", afterSeconds: 60 });
  expect(await admit(ids[2], "bob@customer.test")).toBeUndefined();
});
