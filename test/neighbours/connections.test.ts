import { expectBounded, expectUndisturbed, neighbourhood } from "./neighbourhood";

/**
 * Maximum number of connections that the attacker may keep open, which is less than the number that the attack opens.
 */
const CONNECTIONS_BELOW_ALL = 2_900;

const street = neighbourhood();

// time: ordering
test("the edge closes connections that exceed the share of their client's address, but no connections from other addresses", async () => {
  const { taken, report } = await street.attack("connections");
  expectUndisturbed(report);
  expectBounded(taken, "closed", CONNECTIONS_BELOW_ALL);
});
