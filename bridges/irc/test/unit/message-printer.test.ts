import type { MessageCreate } from "chat-bridge-kit";
import { until } from "../../../../test/harness/wait";
import { MessagePrinter, type MessagePrinterOptions } from "../../play/message-printer";
import type { Journal } from "../../state/journal";

const LINES_SENT = 10;

function setUp(post: MessagePrinterOptions["outbox"]["post"] = async () => undefined) {
  /** The sequence of the version that the kit has saved, for each message. */
  const saved = new Map<string, number>();
  const journal = {
    sentOf: () => LINES_SENT,
    lineBytesOf: () => undefined,
    notePrinted: () => undefined,
    printedOf: () => undefined,
  };
  const printer = new MessagePrinter({
    outbox: { post, cancel: () => undefined },
    room: { bytesFor: () => 400 },
    journal: journal as unknown as Journal,
    text: { isStyled: false, prefix: "!" },
    maxLines: LINES_SENT,
    gapMs: 0,
    nickOf: (userId) => userId,
    shown: () => undefined,
    isSaved: (messageId, sequence) => (saved.get(messageId) ?? 0) >= sequence,
    log: { warn: () => undefined } as unknown as MessagePrinterOptions["log"],
  });
  const sent = () => printer.sent().map(({ messageId }) => messageId);
  return { printer, saved, sent };
}

function create(id: string, sequence = 1): MessageCreate {
  const buttons = [[{ label: "Join", action: "join", style: "primary" }]];
  const message = { id, kind: "card", text: "Trivia", buttons, image: null, data: null };
  return {
    id: `evt_${id}_${sequence}`,
    sequence,
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
  saved.set("b", 1);
  await until("the kit lists the saved message", () => !sent().includes("b"));
  expect(sent()).toEqual(["a"]);
});

// time: ordering
test("a message that is printed again is listed as the newest, until the kit has saved this version or a later one", async () => {
  const { printer, saved, sent } = setUp();
  await printer.post(create("a"));
  await printer.post(create("b"));
  await printer.post(create("a", 2));
  expect(sent()).toEqual(["a", "b"]);
  saved.set("a", 1);
  saved.set("b", 1);
  await until("the kit lists the other message", () => !sent().includes("b"));
  expect(sent()).toEqual(["a"]);
  saved.set("a", 3);
  await until("the kit lists a later version", () => sent().length === 0);
});

test("a message whose lines are refused is not listed", async () => {
  const { printer, sent } = setUp(() => Promise.reject(new Error("refused")));
  await expect(printer.post(create("a"))).rejects.toThrow("refused");
  expect(sent()).toEqual([]);
});
