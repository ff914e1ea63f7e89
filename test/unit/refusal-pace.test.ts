import { createRefusalPace } from "../../runtime/refusal-pace";

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/**
 * Refuses `count` calls of an owner. Returns a list to which the owner's name is added whenever a refusal is answered.
 */
function refuseMany(pace: ReturnType<typeof createRefusalPace>, owner: string, count: number): string[] {
  const answered: string[] = [];
  for (let i = 0; i < count; i++) pace.refuse(owner, () => void answered.push(owner));
  return answered;
}

const ROOMY = { inAll: 1_000, ofOne: 500 };

test("the first refusal of an owner is answered immediately, and the next refusals are answered one after the other", () => {
  const answered = refuseMany(createRefusalPace({ perSecond: 100, waitingMax: ROOMY }), "a", 5);
  expect(answered).toHaveLength(1);
  jest.advanceTimersByTime(20);
  expect(answered).toHaveLength(3);
  jest.advanceTimersByTime(1_000);
  expect(answered).toHaveLength(5);
});

test("a refusal is answered immediately if enough time has passed since the earlier refusals", () => {
  const pace = createRefusalPace({ perSecond: 100, waitingMax: ROOMY });
  refuseMany(pace, "a", 3);
  jest.advanceTimersByTime(30);
  expect(refuseMany(pace, "a", 1)).toHaveLength(1);
});

test("the refusals of one owner do not delay the refusals of another owner", () => {
  const pace = createRefusalPace({ perSecond: 1, waitingMax: ROOMY });
  refuseMany(pace, "a", 100);
  expect(refuseMany(pace, "b", 1)).toHaveLength(1);
});

test("while too many refusals of an owner, or of all owners, are waiting, a further refusal is answered immediately", () => {
  const pace = createRefusalPace({ perSecond: 1, waitingMax: { inAll: 5, ofOne: 3 } });
  expect(refuseMany(pace, "a", 10)).toHaveLength(1 + 6);
  expect(refuseMany(pace, "b", 10)).toHaveLength(1 + 7);
  jest.advanceTimersByTime(60_000);
  expect(refuseMany(pace, "a", 10)).toHaveLength(1 + 6);
  expect(jest.getTimerCount()).toBe(1);
});
