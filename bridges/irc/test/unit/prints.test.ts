import type { Message } from "chat-bridge-kit";
import type { SentMessage } from "../../play/find-choices";
import { Prints } from "../../play/prints";

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const message = (id: string, ...actions: readonly string[]) =>
  ({ id, buttons: [actions.map((action) => ({ label: action, action }))] }) as unknown as Message;
const sentAs = (each: Message) => ({ messageId: each.id, channel: "#games", message: each }) as SentMessage;

function setUp() {
  const shown = new Map<string, Message>();
  const begun = new Set<string>();
  const sent = new Set<Message>();
  const prints = new Prints({
    shown: (id) => {
      const found = shown.get(id);
      return found && { message: found };
    },
    hasBegun: (id) => begun.has(id),
    isSent: (each) => sent.has(each),
  });
  /** Begins to print a version of a message. Returns a function that finishes the print. */
  function print(eventId: string, each: Message): () => Promise<void> {
    let finish: () => void = () => undefined;
    const printing = new Promise<void>((resolve) => (finish = resolve));
    const followed = prints.follow({ id: eventId, channel: "#games", message: each }, () => printing);
    return () => {
      shown.set(each.id, each);
      finish();
      return followed;
    };
  }
  return { prints, shown, begun, sent, print };
}

test("choices are coming while a message with choices is being printed, until all its lines are sent", async () => {
  const { prints, sent, print } = setUp();
  const question = message("q", "A", "B");
  const finish = print("1", question);
  expect([prints.areChoicesComing("#games"), prints.areChoicesComing("#more")]).toEqual([true, false]);
  sent.add(question);
  expect(prints.areChoicesComing("#games")).toBe(false);
  await finish();
  print("2", message("text"));
  expect(prints.areChoicesComing("#games")).toBe(false);
});

// time: controlled
test("choices are closed once the first line of a version without them is sent, and for a moment after the last line", async () => {
  const { prints, begun, print } = setUp();
  const question = message("q", "A", "B");
  await print("1", question)();
  const finish = print("2", message("q"));
  expect(prints.isClosed(sentAs(question))).toBe(false);
  begun.add("2");
  expect(prints.isClosed(sentAs(question))).toBe(true);
  jest.advanceTimersByTime(9_000);
  await finish();
  jest.advanceTimersByTime(9_000);
  expect(prints.justClosed("#games")).toMatchObject({ messageId: "q" });
  jest.advanceTimersByTime(2_000);
  expect(prints.justClosed("#games")).toBeUndefined();
});

test("a version with the same choices closes nothing", async () => {
  const { prints, begun, print } = setUp();
  const question = message("q", "A", "B");
  await print("1", question)();
  print("2", message("q", "A", "B", "C"));
  begun.add("2");
  expect([prints.isClosed(sentAs(question)), prints.justClosed("#games")]).toEqual([false, undefined]);
});
