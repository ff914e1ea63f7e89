import { expectBounded, expectUndisturbed, neighbourhood } from "./neighbourhood";

/** The number of groups that a limited token can have. */
const GROUPS_OF_TOKEN = 4;
/** Maximum number of streams that the attacker may get, which is less than a core's limit for all tokens together. */
const STREAMS_BELOW_ALL = 200;

const street = neighbourhood();

// time: ordering
test("a limited game gets only its share of the groups, and other games can still open streams", async () => {
  const { taken, report } = await street.attack("groups");
  expectUndisturbed(report);
  expectBounded(taken, "RESOURCE_EXHAUSTED", GROUPS_OF_TOKEN);
});

// time: ordering
test("a limited game gets only its share of a core's Follow streams, and other games can still open streams", async () => {
  const { taken, report } = await street.attack("follows");
  expectUndisturbed(report);
  expectBounded(taken, "RESOURCE_EXHAUSTED", STREAMS_BELOW_ALL);
});
