import { expectUndisturbed, neighbourhood } from "./neighbourhood";

const street = neighbourhood();

// time: ordering
test("many events for a bridge that never answers do not delay other tenants' events so long that an event is lost", async () => {
  const { taken, report } = await street.attack("dead-bridge");
  expectUndisturbed(report);
  expect(taken.accepted).toBeGreaterThan(0);
});

// time: ordering
test("many events for a bridge that refuses connections do not delay other tenants' events so long that an event is lost", async () => {
  const { taken, report } = await street.attack("refusing-bridge");
  expectUndisturbed(report);
  expect(taken.accepted).toBeGreaterThan(0);
});
