import { OUTSIDE_CALLS_MAX } from "../../core/domain/bounds";
import { createCallsInProgress } from "../../core/operations/calls-in-progress";
import { setOperatorEventsAddress } from "../../core/operations/operator-events";
import { setTargetUrl, type WorkspaceContext } from "../../core/operations/workspaces";

const MAX = { inAll: 5, ofWorkspace: 2, ofToken: 3 };

/** Calls whose tasks run until `end` is called. */
function createTestCalls() {
  const calls = createCallsInProgress("tests", MAX);
  const ends: (() => void)[] = [];
  return {
    ends,
    /** Begins a call; returns the refusal, or undefined if the call is in progress. */
    async begin(workspaceId: string | undefined, by: string): Promise<string | undefined> {
      const call = calls.run({ workspaceId, by }, () => new Promise<void>((end) => ends.push(end)));
      const begun = new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)));
      const refused = await Promise.race([call, begun]);
      return refused?.message;
    },
  };
}

test("each workspace and each token has its own limit of calls in progress, which is lower than the limit for all calls", async () => {
  const { begin, ends } = createTestCalls();
  expect(await begin("w1", "ann")).toBeUndefined();
  expect(await begin("w1", "ann")).toBeUndefined();
  expect(await begin("w1", "bob")).toBe(
    "the workspace already has 2 tests in progress, which is the limit: retry when one of them has ended",
  );
  expect(await begin("w2", "ann")).toBeUndefined();
  expect(await begin("w3", "ann")).toMatch(/^the token ann already has 3 tests in progress/);
  expect(await begin(undefined, "bob")).toBeUndefined();
  expect(await begin(undefined, "bob")).toBeUndefined();
  expect(await begin(undefined, "carl")).toBe(
    "this core already has 5 tests in progress, which is the limit: use another core, or retry later",
  );
  ends[0]?.();
  await new Promise((resolve) => setImmediate(resolve));
  expect(await begin("w1", "carl")).toBeUndefined();
});

test("a call that fails makes room for another call", async () => {
  const calls = createCallsInProgress("tests", { inAll: 1, ofWorkspace: 1, ofToken: 1 });
  const holder = { workspaceId: "w", by: "ann" };
  await expect(calls.run(holder, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(await calls.run(holder, async () => "done")).toBe("done");
});

test("at most 16 checks of a workspace's URLs are in progress, and clearing the URL needs no check", async () => {
  const checks: (() => void)[] = [];
  const context = {
    by: "ann",
    urlChecks: createCallsInProgress("checks of URLs", OUTSIDE_CALLS_MAX),
    targetUrlCheck: { findFault: () => new Promise<undefined>((done) => checks.push(() => done(undefined))) },
    workspaces: { read: async () => undefined },
  } as unknown as WorkspaceContext;
  const set = (url: string) => setTargetUrl(context, "w", url);
  const pending = Array.from({ length: 16 }, () => set("https://bridge.example/"));
  expect(await set("https://bridge.example/")).toMatchObject({ refused: "too-many" });
  expect(await setOperatorEventsAddress(context, "w", "https://ops.example/")).toMatchObject({
    refused: "too-many",
  });
  expect(await set("")).toEqual({ refused: "not-found" });
  for (const done of checks) done();
  expect(await Promise.all(pending)).toEqual(pending.map(() => ({ refused: "not-found" })));
});
