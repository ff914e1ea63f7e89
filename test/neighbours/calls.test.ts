import { expectUndisturbed, neighbourhood } from "./neighbourhood";

const street = neighbourhood();

// time: ordering
test("a tenant's calls above its pace are delayed, and no call of another tenant is refused", async () => {
  const fromMs = performance.now();
  const { taken, report } = await street.attack("calls");
  expectUndisturbed(report);
  expect(taken.accepted).toBeGreaterThan(0);
  // The pace of each tenant is 500 calls per second, and the attack makes 4,000 calls.
  expect(performance.now() - fromMs).toBeGreaterThan(7_000);
});

// time: ordering
test("if the name server of target URLs never answers, checks of these URLs that exceed a tenant's share are refused, and other tenants are not disturbed", async () => {
  const { taken, report } = await street.attack("names");
  expectUndisturbed(report);
  expect(Object.keys(taken.refused)).toContain("RESOURCE_EXHAUSTED");
});
