import { expectUndisturbed, neighbourhood } from "./neighbourhood";

const street = neighbourhood();

// time: ordering
test("a tenant that posts at the highest allowed rate does not disturb other tenants, even if the tenant's game does not ack any event", async () => {
  const { taken, report } = await street.attack("unacked-posts");
  expectUndisturbed(report);
  expect(taken.accepted).toBeGreaterThan(0);
});

// time: ordering
test("requests with invalid signatures for a tenant's workspace do not count against the limit of the workspace", async () => {
  const { taken, report } = await street.attack("bad-signatures");
  expectUndisturbed(report);
  expect(taken.accepted).toBe(0);
  expect(Object.keys(taken.refused)).toContain("401");
});

// time: ordering
test("a bridge that requests pages without reading them does not disturb other tenants", async () => {
  const { report } = await street.attack("unread-polls");
  expectUndisturbed(report);
});
