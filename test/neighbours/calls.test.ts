import { expectUndisturbed, neighbourhood } from "./neighbourhood";

const street = neighbourhood();

// time: ordering
test("calls of one tenant above its pace wait, and no call of another tenant is refused", async () => {
  const fromMs = performance.now();
  const { taken, report } = await street.attack("calls");
  expectUndisturbed(report);
  expect(taken.accepted).toBeGreaterThan(0);
  // Each tenant has the pace of 500 calls per second, and the attack makes 4,000 calls.
  expect(performance.now() - fromMs).toBeGreaterThan(7_000);
});

// time: ordering
test("checks of target URLs whose names are never answered for are refused above a share, and disturb no other tenant", async () => {
  const { taken, report } = await street.attack("names");
  expectUndisturbed(report);
  expect(Object.keys(taken.refused)).toContain("RESOURCE_EXHAUSTED");
});
