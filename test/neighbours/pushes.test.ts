import { expectUndisturbed, neighbourhood } from "./neighbourhood";

const street = neighbourhood();

// time: ordering
test("many events for a bridge that never answers delay no other tenant's events so long that they are lost", async () => {
  const { taken, report } = await street.attack("dead-bridge");
  expectUndisturbed(report);
  expect(taken.accepted).toBeGreaterThan(0);
});

// time: ordering
test("many events for a bridge that refuses connections delay no other tenant's events so long that they are lost", async () => {
  const { taken, report } = await street.attack("refusing-bridge");
  expectUndisturbed(report);
  expect(taken.accepted).toBeGreaterThan(0);
});
