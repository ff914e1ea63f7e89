import * as fc from "fast-check";
import {
  activeSecrets,
  createSigningSecret,
  deliveryMode,
  hasHooks,
  lapsesAtMs,
  withRotatedSecret,
  type Workspace,
} from "../../core/domain/workspace";
import { newWorkspace } from "../harness/new-workspace";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const T0 = Date.UTC(2025, 0, 1);

const WORKSPACE = newWorkspace({ secrets: [createSigningSecret("s0", T0)] });

const URL = "https://bridge.example/";

// contract: workspace-modes
test.each([
  ["a connected custom one without a target URL", {}, "poll", true],
  ["a connected custom one with a target URL", { targetUrl: URL }, "push", true],
  ["a disconnected one", { connected: false }, "none", false],
  ["a disconnected one with a target URL", { connected: false, targetUrl: URL }, "none", false],
  ["one of a native platform", { platform: "native", connected: false }, "none", false],
  ["one of a native platform, whatever its record says", { platform: "native" }, "none", false],
] as const)("the delivery mode of %s", (_name, change, mode, hooks) => {
  const workspace = { ...WORKSPACE, ...change };
  expect([deliveryMode(workspace), hasHooks(workspace)]).toEqual([mode, hooks]);
});

function rotate(workspace: Workspace, value: string, nowMs: number): Workspace {
  const rotated = withRotatedSecret(workspace, createSigningSecret(value, nowMs), nowMs);
  if (rotated === undefined) throw new Error("the rotation was refused");
  return rotated;
}

function values(workspace: Workspace, nowMs: number): readonly string[] {
  return activeSecrets(workspace, nowMs).map(({ value }) => value);
}

// time: controlled
// contract: rotation-inbound, rotation-outbound
test("for 24 hours after a rotation both secrets are active, the new one first", () => {
  const rotated = rotate(WORKSPACE, "s1", T0 + HOUR_MS);
  expect(values(rotated, T0 + HOUR_MS)).toEqual(["s1", "s0"]);
  expect(values(rotated, T0 + HOUR_MS + DAY_MS - 1)).toEqual(["s1", "s0"]);
  expect(values(rotated, T0 + HOUR_MS + DAY_MS)).toEqual(["s1"]);
});

// time: controlled
test("four secrets may be active; a fifth is refused until one lapses", () => {
  let workspace = WORKSPACE;
  for (let i = 1; i <= 3; i++) workspace = rotate(workspace, `s${i}`, T0 + i * HOUR_MS);
  expect(values(workspace, T0 + 3 * HOUR_MS)).toEqual(["s3", "s2", "s1", "s0"]);
  const lapse = T0 + HOUR_MS + DAY_MS;
  expect(withRotatedSecret(workspace, createSigningSecret("s4", lapse - 1), lapse - 1)).toBeUndefined();
  const rotated = rotate(workspace, "s4", lapse);
  expect(values(rotated, lapse)).toEqual(["s4", "s3", "s2", "s1"]);
  // Each lapses 24 hours after its own retirement.
  const lapses = [2, 1, 0].map((hours) => lapse + hours * HOUR_MS);
  expect(rotated.secrets.slice(0, 4).map(lapsesAtMs)).toEqual([
    undefined,
    lapse + DAY_MS,
    ...lapses.slice(0, 2),
  ]);
});

test("however it is rotated, 1 to 4 secrets are active, newest first, and the newest is the last one made", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: DAY_MS }), { maxLength: 30 }), (waits) => {
      let workspace = WORKSPACE;
      let nowMs = T0;
      let newest = "s0";
      for (const [i, wait] of waits.entries()) {
        nowMs += wait;
        const before = activeSecrets(workspace, nowMs).length;
        const rotated = withRotatedSecret(workspace, createSigningSecret(`r${i}`, nowMs), nowMs);
        expect(rotated === undefined).toBe(before === 4);
        if (rotated !== undefined) newest = `r${i}`;
        workspace = rotated ?? workspace;
        const active = activeSecrets(workspace, nowMs);
        expect(active[0]?.value).toBe(newest);
        expect(active.length).toBeLessThanOrEqual(4);
        const made = active.map(({ createdAtMs }) => createdAtMs);
        expect(made).toEqual(made.toSorted((a, b) => b - a));
      }
    }),
  );
});
