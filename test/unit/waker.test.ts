import { createWaker } from "../../core/domain/waker";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

// time: controlled
test("a wake ends the current wait, or the next wait if none is in progress, and does not leave a timer", async () => {
  const waker = createWaker();
  const waiting = waker.wait(60_000);
  waker.wake();
  await waiting;
  expect(jest.getTimerCount()).toBe(0);
  waker.wake();
  await waker.wait(60_000);
  const over = jest.fn();
  void waker.wait(1_000).then(over);
  await jest.advanceTimersByTimeAsync(999);
  expect(over).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(1);
  expect(over).toHaveBeenCalled();
});
