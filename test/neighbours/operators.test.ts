import { expectBounded, expectUndisturbed, neighbourhood } from "./neighbourhood";

/**
 * Maximum numbers of watches and of pages that the attacker may open. Core's and the dashboard's limits for all
 * operators together are higher.
 */
const [WATCHES_BELOW_ALL, PAGES_BELOW_ALL] = [900, 150];

const street = neighbourhood();

// time: ordering
test("a limited operator gets only its share of a core's watches, and other operators can still open watches", async () => {
  const { taken, report } = await street.attack("watches");
  expectUndisturbed(report);
  expectBounded(taken, "RESOURCE_EXHAUSTED", WATCHES_BELOW_ALL);
});

// time: ordering
test("a limited operator can keep only its share of the dashboard's pages open, and other operators can still open pages", async () => {
  const { taken, report } = await street.attack("pages");
  expectUndisturbed(report);
  expectBounded(taken, "503", PAGES_BELOW_ALL);
});

// time: ordering
test("an operator who signs in repeatedly does not sign other operators out", async () => {
  const { taken, report } = await street.attack("sign-ins");
  expectUndisturbed(report);
  expect(taken.accepted).toBeGreaterThan(0);
});
