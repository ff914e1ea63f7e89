import { createBell } from "../../core/domain/bell";

const LONG_MS = 60_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

// time: controlled
test("a ring wakes the one who waits, and leaves no timer", async () => {
  const bell = createBell();
  const waiting = bell.wait(LONG_MS);
  bell.ring();
  await waiting;
  expect(jest.getTimerCount()).toBe(0);
});

// time: controlled
test("rings while nobody waits are kept, and end one wait", async () => {
  const bell = createBell();
  bell.ring();
  bell.ring();
  await bell.wait(LONG_MS);
  let isOver = false;
  void bell.wait(1_000).then(() => (isOver = true));
  await jest.advanceTimersByTimeAsync(999);
  expect(isOver).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  expect(isOver).toBe(true);
});
