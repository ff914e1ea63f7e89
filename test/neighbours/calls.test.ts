import { expectUndisturbed, neighbourhood } from "./neighbourhood";

const street = neighbourhood();

// time: ordering
test("core delays calls that exceed a tenant's allowed pace, and does not refuse any call of another tenant", async () => {
  const fromMs = performance.now();
  const { taken, report } = await street.attack("calls");
  expectUndisturbed(report);
  expect(taken.accepted).toBeGreaterThan(0);
  // The pace of each tenant is 500 calls per second, and the attack makes 4,000 calls.
  expect(performance.now() - fromMs).toBeGreaterThan(7_000);
});

// time: ordering
test("while the name server for target URLs never answers, a tenant that sets too many target URLs is refused, and other tenants are not disturbed", async () => {
  const { taken, report } = await street.attack("names");
  expectUndisturbed(report);
  expect(Object.keys(taken.refused)).toContain("RESOURCE_EXHAUSTED");
});
