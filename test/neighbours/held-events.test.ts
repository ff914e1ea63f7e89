import { expectBounded, expectUndisturbed, neighbourhood } from "./neighbourhood";

/** The number of calls that the attack makes. */
const ALL_CALLS = 60;

const street = neighbourhood();

// time: ordering
test("for a workspace that nobody polls, events that exceed its share are refused, but other tenants' events are accepted", async () => {
  const { taken, report } = await street.attack("held-events");
  expectUndisturbed(report);
  expectBounded(taken, "HELD_FULL", ALL_CALLS - 1);
});
