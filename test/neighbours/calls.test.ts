import { expectUndisturbed, neighbourhood } from "./neighbourhood";

const street = neighbourhood();

// time: ordering
test("calls of one tenant above its share are refused, and no call of another tenant is", async () => {
  const { taken, report } = await street.attack("calls");
  expectUndisturbed(report);
  expect(Object.keys(taken.refused)).toContain("RESOURCE_EXHAUSTED");
});

// time: ordering
test("checks of target URLs whose names are never answered for are refused above a share, and disturb no other tenant", async () => {
  const { taken, report } = await street.attack("names");
  expectUndisturbed(report);
  expect(Object.keys(taken.refused)).toContain("RESOURCE_EXHAUSTED");
});
