import { WaitingUpdates } from "../../play/waiting-updates";

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const update = (id: string, channel: string) => ({ channel, message: { id } });

// time: controlled
test("if too many updates wait in a channel, the oldest of them are dropped, but no updates of other channels", () => {
  const printed: string[] = [];
  const waiting = new WaitingUpdates<ReturnType<typeof update>>(
    ({ message }) => void printed.push(message.id),
  );
  waiting.put(update("other", "#two"), 1_000);
  for (let i = 0; i < 60; i += 1) waiting.put(update(`m${i}`, "#games"), 1_000);
  jest.advanceTimersByTime(1_000);
  expect(printed).toEqual(["other", ...Array.from({ length: 50 }, (_, i) => `m${i + 10}`)]);
});
