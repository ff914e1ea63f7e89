import { expectBounded, expectUndisturbed, neighbourhood } from "./neighbourhood";

/** The number of calls that the attack makes. */
const ALL_CALLS = 60;

const street = neighbourhood();

// time: ordering
test("if no bridge polls a workspace, core refuses the events that exceed the workspace's share, but accepts other tenants' events", async () => {
  const { taken, report } = await street.attack("held-events");
  expectUndisturbed(report);
  expectBounded(taken, "HELD_FULL", ALL_CALLS - 1);
});
