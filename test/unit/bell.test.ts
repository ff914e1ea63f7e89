import { createBell } from "../../core/domain/bell";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

// time: controlled
test("a ring ends one wait, the current or the next one, and leaves no timer", async () => {
  const bell = createBell();
  const waiting = bell.wait(60_000);
  bell.ring();
  await waiting;
  expect(jest.getTimerCount()).toBe(0);
  bell.ring();
  await bell.wait(60_000);
  const over = jest.fn();
  void bell.wait(1_000).then(over);
  await jest.advanceTimersByTimeAsync(999);
  expect(over).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(1);
  expect(over).toHaveBeenCalled();
});
