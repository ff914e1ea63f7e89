import { createBell } from "../../core/domain/bell";

const LONG_MS = 60_000;

test("a ring wakes the one who waits", async () => {
  const bell = createBell();
  const waiting = bell.wait(LONG_MS);
  bell.ring();
  await expect(waiting).resolves.toBeUndefined();
});

test("a ring while nobody waits is kept for the next wait", async () => {
  const bell = createBell();
  bell.ring();
  bell.ring();
  await expect(bell.wait(LONG_MS)).resolves.toBeUndefined();
});

describe("with timers in hand", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  async function isOver(waiting: Promise<void>): Promise<boolean> {
    let over = false;
    void waiting.then(() => (over = true));
    await jest.advanceTimersByTimeAsync(0);
    return over;
  }

  test("a ring wakes once: the wait after it lasts its time", async () => {
    const bell = createBell();
    bell.ring();
    bell.ring();
    await bell.wait(LONG_MS);
    const second = bell.wait(1_000);
    expect(await isOver(second)).toBe(false);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await isOver(second)).toBe(true);
  });

  test("a wait that was rung leaves no timer", async () => {
    const bell = createBell();
    const waiting = bell.wait(LONG_MS);
    bell.ring();
    await waiting;
    expect(jest.getTimerCount()).toBe(0);
  });
});
