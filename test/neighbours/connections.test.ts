import { expectBounded, expectUndisturbed, neighbourhood } from "./neighbourhood";

/** Maximum number of connections that the attacker may keep: fewer than the attack opens. */
const CONNECTIONS_BELOW_ALL = 2_900;

const street = neighbourhood();

// time: ordering
test("the edge closes connections that exceed the share of their address, but closes no connections of another address", async () => {
  const { taken, report } = await street.attack("connections");
  expectUndisturbed(report);
  expectBounded(taken, "closed", CONNECTIONS_BELOW_ALL);
});
