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
  ["a connected custom workspace without a target URL", {}, "poll", true],
  ["a connected custom workspace with a target URL", { targetUrl: URL }, "push", true],
  ["a disconnected workspace", { connected: false }, "none", false],
  ["a disconnected workspace with a target URL", { connected: false, targetUrl: URL }, "none", false],
  ["a workspace of a native platform", { platform: "native", connected: false }, "none", false],
  [
    "a workspace that is stored as connected, although its platform is native",
    { platform: "native" },
    "none",
    false,
  ],
] as const)(
  "%s has the right delivery mode and the right value of `hasHooks`",
  (_name, change, mode, hooks) => {
    const workspace = { ...WORKSPACE, ...change };
    expect([deliveryMode(workspace), hasHooks(workspace)]).toEqual([mode, hooks]);
  },
);

function rotate(workspace: Workspace, value: string, nowMs: number): Workspace {
  const rotated = withRotatedSecret(workspace, createSigningSecret(value, nowMs));
  if (rotated === undefined) throw new Error("the rotation was refused");
  return rotated;
}

function values(workspace: Workspace, nowMs: number): readonly (string | undefined)[] {
  return activeSecrets(workspace, nowMs).map(({ value }) => value);
}

// time: controlled
// contract: rotation-inbound, rotation-outbound
test("at most four secrets are active, newest first; a fifth is rejected until the oldest expires, 24 hours after it was retired", () => {
  let workspace = WORKSPACE;
  for (let i = 1; i <= 3; i++) workspace = rotate(workspace, `s${i}`, T0 + i * HOUR_MS);
  expect(values(workspace, T0 + 3 * HOUR_MS)).toEqual(["s3", "s2", "s1", "s0"]);
  const lapse = T0 + HOUR_MS + DAY_MS;
  expect(withRotatedSecret(workspace, createSigningSecret("s4", lapse - 1))).toBeUndefined();
  const rotated = rotate(workspace, "s4", lapse);
  expect(values(rotated, lapse)).toEqual(["s4", "s3", "s2", "s1"]);
  // Each secret expires 24 hours after it was retired.
  const lapses = [2, 1, 0].map((hours) => lapse + hours * HOUR_MS);
  const active = rotated.secrets.slice(0, 4).map(lapsesAtMs);
  expect(active).toEqual([undefined, lapse + DAY_MS, ...lapses.slice(0, 2)]);
});
