import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Message, MessageEphemeral, ShownMessage } from "chat-bridge-kit";
import { testFolder } from "../../../../test/harness/folder";
import { createFloodGate } from "../../connection/flood-gate";
import { Outbox } from "../../connection/outbox";
import { choicesOf } from "../../text/choices-line";
import type { Update } from "../../play/live-messages";
import { MessagePrinter, type MessagePrinterOptions } from "../../play/message-printer";
import { Journal } from "../../state/journal";

const folder = testFolder();
const GAME = "msg_1";
const LINE_MS = 1_000;

beforeEach(() => jest.useFakeTimers({ doNotFake: ["setImmediate"] }));
afterEach(() => jest.useRealTimers());

/** Returns the version of the game's message that the event with this sequence shows. */
function version(sequence: number, text: string, fields: Partial<Message> = {}): Update {
  const empty = { buttons: [], image: null, awaitsReply: false, data: null };
  const message: Message = { id: GAME, kind: "question", text, ...empty, ...fields };
  return { id: `evt_${sequence}`, sequence, expiresAt: null, channel: "#games", message };
}
const choices = (...labels: readonly string[]) => [labels.map((label) => ({ label, action: label }))];
const question = (sequence: number, number: number): Update =>
  version(sequence, `Question ${number} · 20 seconds\n\n> What is ${number}?`, {
    buttons: choices(`${number}a`, `${number}b`),
  });
const tally = (sequence: number, number: number): Update =>
  version(sequence, `${question(0, number).message.text}\n\n1 of 3 have answered`, {
    kind: "answer_update",
    buttons: choices(`${number}a`, `${number}b`),
  });
const answer = (sequence: number, number: number): Update =>
  version(sequence, `Question ${number} · Time is up\n\n> What is ${number}?\n\nThe answer: ${number}`, {
    kind: "time_up",
  });
/**
 * Lines of a question: the first line, the answer after a printed question, and the answer after a question that was
 * not printed.
 */
const asked = (number: number): string => `Question ${number} · 20 seconds > What is ${number}?`;
const answered = (number: number): string => `Question ${number} · Time is up | The answer: ${number}`;
const named = (number: number): string =>
  `Question ${number} · Time is up > What is ${number}? | The answer: ${number}`;
const choose = (number: number): string => `1 ${number}a  2 ${number}b  (answer with !1 or !2)`;

/** Starts a bridge's printer with a state folder, and with a server that echoes each line at once. */
function setUp({ state = mkdtempSync(join(folder, "state-")), room = 400 } = {}) {
  const written: string[] = [];
  const shown = new Map<string, ShownMessage>();
  const journal = new Journal(state, () => undefined);
  let isUp = true;
  const outbox: Outbox = new Outbox({
    write: (line) => {
      const [, target = "", text = ""] = /^\S+ (\S+) :(.*)$/.exec(line) ?? [];
      written.push(text);
      queueMicrotask(() => isUp && outbox.echoed(target, text));
    },
    gate: createFloodGate(1, LINE_MS, () => Date.now()),
    journal,
    readiness: () => "now",
  });
  const printer = new MessagePrinter({
    outbox,
    journal,
    room: { bytesFor: () => room },
    text: { isStyled: false, prefix: "!" },
    maxLines: 12,
    gapMs: 10_000,
    nickOf: (userId) => userId,
    shown: (id) => shown.get(id),
    isSaved: () => true,
    log: { warn: () => undefined } as unknown as MessagePrinterOptions["log"],
  });
  outbox.up({ hasEcho: true });
  /** Passes an update to the printer, and saves it as the kit does. */
  async function update(event: Update): Promise<void> {
    await printer.update(event);
    const { id: eventId, channel, message, sequence } = event;
    shown.set(message.id, {
      messageId: message.id,
      channel,
      user: null,
      message,
      eventId,
      sequence,
      chatMessageIds: [message.id],
    });
  }
  const lines = (count: number) => jest.advanceTimersByTimeAsync(count * LINE_MS);
  const visible = () =>
    printer.sent().map(({ message }) => choicesOf(message.buttons).map(({ label }) => label));
  /** Kills the bridge, and starts another with the same state folder. */
  function restart(next: { room?: number } = {}) {
    isUp = false;
    jest.clearAllTimers();
    journal.close();
    const again = setUp({ state, ...next });
    for (const [id, message] of shown) again.shown.set(id, message);
    again.printer.resume((id) => shown.get(id));
    return again;
  }
  return { printer, written, update, lines, restart, shown, visible, outbox };
}

test("a question whose answer has arrived is not printed, and the answer names the question", async () => {
  const { update, written, lines } = setUp();
  await update(question(1, 1));
  await lines(2);
  for (const event of [answer(2, 1), question(3, 2), answer(4, 2)]) await update(event);
  await lines(5);
  expect(written).toEqual([asked(1), choose(1), answered(1), named(2)]);
});

test("if the answer arrives while a question is being printed, the rest of the question is dropped", async () => {
  const { update, written, lines } = setUp();
  await update(question(1, 1));
  expect(written).toEqual([asked(1)]);
  await update(answer(2, 1));
  await lines(5);
  expect(written).toEqual([asked(1), named(1)]);
});

test("an answer is printed even if the next question has arrived", async () => {
  const { update, written, lines } = setUp();
  await update(question(1, 1));
  await lines(1);
  for (const event of [answer(2, 1), question(3, 2), answer(4, 2), question(5, 3)]) await update(event);
  await lines(9);
  expect(written).toEqual([asked(1), choose(1), answered(1), named(2), asked(3), choose(3)]);
});

test("a new count of answers neither interrupts the printing of a question, nor repeats the question after a restart", async () => {
  const { update, written, restart } = setUp();
  await update(question(1, 1));
  await update(tally(2, 1));
  expect(written).toEqual([asked(1)]);
  const next = restart();
  await next.lines(5);
  expect(next.written).toEqual([choose(1)]);
});

test("after a restart, the rest of a message is divided into the same lines, even if the room in a line has changed", async () => {
  const { update, written, restart } = setUp({ room: 100 });
  const words = Array.from({ length: 40 }, (_, i) => `word${i}`).join(" ");
  await update(version(1, words));
  const next = restart({ room: 300 });
  await next.lines(9);
  expect([...written, ...next.written].join(" ")).toBe(words);
});

test("members can choose only what they see: the old choices until a new question begins, and the new choices after its last line", async () => {
  const { update, visible, lines, outbox } = setUp();
  await update(question(1, 1));
  await lines(2);
  outbox.control("JOIN #other");
  await update(question(2, 2));
  expect(visible()).toEqual([["1a", "1b"]]);
  await lines(1);
  expect(visible()).toEqual([[]]);
  await lines(1);
  // The message is printed, so the kit's list is correct.
  expect(visible()).toEqual([]);
});

const notice = (
  sequence: number,
  about: string | undefined,
  fields: Partial<Message> = {},
): MessageEphemeral =>
  ({
    ...version(sequence, "Locked in", {
      id: `msg_${sequence}`,
      kind: "card",
      data: about === undefined ? null : { about },
      ...fields,
    }),
    type: "message.ephemeral",
    user: "ann",
  }) as unknown as MessageEphemeral;

test("a notice is not printed if the event that overtakes it arrives at the same time", async () => {
  const { update, printer, written, lines } = setUp();
  await update(question(1, 1));
  await lines(3);
  const receipt = printer.ephemeral(notice(2, GAME));
  await update(answer(3, 1));
  expect(await receipt).toBeUndefined();
  await lines(3);
  expect(written).toEqual([asked(1), choose(1), answered(1)]);
});

test("a notice about a message is dropped when the choices of the message have changed", async () => {
  const { update, printer, written, lines } = setUp();
  await update(question(1, 1));
  const others = [
    notice(2, undefined, { text: "about nothing" }),
    notice(3, "msg_other", { text: "about another message" }),
    notice(4, GAME, { text: "with choices", buttons: choices("yes") }),
    notice(9, GAME, { text: "about the answer" }),
  ];
  const receipt = printer.ephemeral(notice(5, GAME));
  const printed = others.map((each) => printer.ephemeral(each));
  await nextTurn();
  await update(tally(6, 1));
  await update(answer(7, 1));
  expect(await receipt).toBeUndefined();
  expect(await printer.ephemeral(notice(6, GAME))).toBeUndefined();
  await lines(12);
  expect(await Promise.all(printed)).toEqual(others.map(({ message }) => message.id));
  expect(written).toEqual([
    asked(1),
    named(1),
    "[#games] about nothing",
    "[#games] about another message",
    "[#games] with choices",
    "[#games] 1 yes  (answer with !1)",
    "[#games] about the answer",
  ]);
});
