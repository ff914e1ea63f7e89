import { expectBounded, expectUndisturbed, neighbourhood } from "./neighbourhood";

/** The number of calls of the attack. */
const ALL_CALLS = 60;

const street = neighbourhood();

// time: ordering
test("events for a workspace that nobody polls are refused above a share, and no other tenant's events are", async () => {
  const { taken, report } = await street.attack("held-events");
  expectUndisturbed(report);
  expectBounded(taken, "HELD_FULL", ALL_CALLS - 1);
});
