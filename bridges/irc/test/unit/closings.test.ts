import type { Message } from "chat-bridge-kit";
import { Closings } from "../../play/closings";

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const message = (...actions: readonly string[]) =>
  ({ id: "q", buttons: [actions.map((action) => ({ label: action, action }))] }) as unknown as Message;

// time: controlled
test("a version with other choices, or without choices, counts as a replacement of choices for a moment", () => {
  for (const next of [message(), message("C", "D"), message("B", "A")]) {
    const closings = new Closings();
    closings.note("#games", next, message("A", "B"));
    expect(closings.just("#games")).toMatchObject({ messageId: "q", atMs: Date.now() });
    expect(closings.just("#more")).toBeUndefined();
    jest.advanceTimersByTime(14_000);
    expect(closings.just("#games")).toBeDefined();
    jest.advanceTimersByTime(1_000);
    expect(closings.just("#games")).toBeUndefined();
  }
});

test("neither a version with the same choices, nor the first version, counts as a replacement of choices", () => {
  const closings = new Closings();
  closings.note("#games", message("A", "B"), undefined);
  closings.note("#games", message("A", "B", "C"), message("A", "B"));
  closings.note("#games", message(), message());
  expect(closings.just("#games")).toBeUndefined();
});
