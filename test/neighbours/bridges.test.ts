import { expectUndisturbed, neighbourhood } from "./neighbourhood";

const street = neighbourhood();

// time: ordering
test("a tenant's posts at the highest rate, of which its game acks none, disturb no other tenant", async () => {
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
test("pages that a bridge requests and does not read disturb no other tenant", async () => {
  const { report } = await street.attack("unread-polls");
  expectUndisturbed(report);
});
