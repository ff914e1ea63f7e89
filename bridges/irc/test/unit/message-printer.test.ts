import type { MessageCreate } from "chat-bridge-kit";
import { until } from "../../../../test/harness/wait";
import { MessagePrinter, type MessagePrinterOptions } from "../../play/message-printer";
import type { Journal } from "../../state/journal";

const LINES_SENT = 10;

function setUp(outbox: MessagePrinterOptions["outbox"] = { post: async () => undefined }) {
  const saved = new Set<string>();
  const journal = { sentOf: () => LINES_SENT, notePrinted: () => undefined, printedOf: () => undefined };
  const printer = new MessagePrinter({
    outbox,
    journal: journal as unknown as Journal,
    text: { isStyled: false, prefix: "!" },
    maxLines: LINES_SENT,
    gapMs: 0,
    nickOf: (userId) => userId,
    isSaved: (_messageId, eventId) => saved.has(eventId),
    log: { warn: () => undefined } as unknown as MessagePrinterOptions["log"],
  });
  const sent = () => printer.sent().map(({ messageId }) => messageId);
  return { printer, saved, sent };
}

function create(id: string, eventId = `evt_${id}`): MessageCreate {
  const buttons = [[{ label: "Join", action: "join", style: "primary" }]];
  const message = { id, kind: "card", text: "Trivia", buttons, image: null, data: null };
  return {
    id: eventId,
    type: "message.create",
    channel: "#games",
    expiresAt: null,
    message,
  } as unknown as MessageCreate;
}

// time: ordering
test("members can answer a printed message before the kit has saved it", async () => {
  const { printer, saved, sent } = setUp();
  await printer.post(create("a"));
  await printer.post(create("b"));
  expect(sent()).toEqual(["b", "a"]);
  saved.add("evt_b");
  await until("the kit lists the saved message", () => !sent().includes("b"));
  expect(sent()).toEqual(["a"]);
});

// time: ordering
test("a message that is printed again is the newest, until the kit has saved the new version", async () => {
  const { printer, saved, sent } = setUp();
  await printer.post(create("a"));
  await printer.post(create("b"));
  await printer.post(create("a", "evt_again"));
  expect(sent()).toEqual(["a", "b"]);
  saved.add("evt_a");
  saved.add("evt_b");
  await until("the kit lists the other message", () => !sent().includes("b"));
  expect(sent()).toEqual(["a"]);
  saved.add("evt_again");
  await until("the kit lists the new version", () => sent().length === 0);
});

test("a message whose lines are refused is not listed", async () => {
  const { printer, sent } = setUp({ post: () => Promise.reject(new Error("refused")) });
  await expect(printer.post(create("a"))).rejects.toThrow("refused");
  expect(sent()).toEqual([]);
});
