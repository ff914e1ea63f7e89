import { expectBounded, expectUndisturbed, neighbourhood } from "./neighbourhood";

/** Fewer connections than the attack opens. */
const CONNECTIONS_BELOW_ALL = 2_900;

const street = neighbourhood();

// time: ordering
test("the edge closes the connections of an address above its share, but does not close those of another address", async () => {
  const { taken, report } = await street.attack("connections");
  expectUndisturbed(report);
  expectBounded(taken, "closed", CONNECTIONS_BELOW_ALL);
});
