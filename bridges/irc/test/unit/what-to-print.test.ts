import type { Message } from "chat-bridge-kit";
import { printedOf, whatToPrint, type Printed } from "../../print/what-to-print";
import { messageParts } from "../../text/message-parts";

const GAP_MS = 10_000;
const text = { isStyled: false, prefix: "!" };
const choices = (...actions: readonly string[]) => [actions.map((action) => ({ label: action, action }))];
const message = (kind: string, body: string, more: Partial<Message> = {}): Message => ({
  id: "msg_00000000000000000000000000",
  buttons: [],
  image: null,
  awaitsReply: false,
  data: null,
  kind,
  text: body,
  ...more,
});
const after = (shown: Message, atMs = 0): Printed => printedOf(shown, messageParts(shown, text), atMs);

/** Returns the lines that an update prints, or the type of another decision. */
function decide(next: Message, before: Printed | undefined, nowMs = 1_000) {
  const decision = whatToPrint({
    message: next,
    parts: messageParts(next, text),
    before,
    nowMs,
    gapMs: GAP_MS,
  });
  return decision.type === "print" ? decision.parts.flatMap(({ lines }) => lines) : decision;
}

const QUESTION = "Question 1\n\n> Which is the capital?";
const question = message("question", QUESTION, { buttons: choices("a", "b") });

test("a count of answers is not printed", () => {
  const counted = message("answer_update", `${QUESTION}\n\n1 of 3 have answered`, {
    buttons: choices("a", "b"),
  });
  expect(decide(counted, after(question))).toEqual({ type: "nothing" });
});

test("a list of joined members is not printed", () => {
  const lobby = (names: string): Message =>
    message("game_start", `Game\n\nJoined: ${names}`, { buttons: choices("join") });
  expect(decide(lobby("Ann, Bob"), after(lobby("Ann")))).toEqual({ type: "nothing" });
});

test.each(["with choices", "without choices"])(
  "a question %s is printed even if it first arrives with a count of answers",
  (how) => {
    const more = (action: string): Partial<Message> =>
      how === "with choices" ? { buttons: choices(action) } : { awaitsReply: true };
    const first = message("question", QUESTION, more("1"));
    const second = message(
      "answer_update",
      "Question 2\n\n> How high is Mount Everest?\n\n1 of 3 have answered",
      more("2"),
    );
    expect(decide(second, after(first))).toContain("> How high is Mount Everest?");
  },
);

test("the printed answer to a question does not repeat the question", () => {
  const reveal = message("time_up", "Time is up\n\n> Which is the capital?\n\nThe answer: a");
  expect(decide(reveal, after(question))).toEqual(["Time is up", "The answer: a"]);
});

test("a repeated phase whose content has not changed is not printed again", () => {
  expect(decide(question, after(question))).toEqual({ type: "nothing" });
});

test("a board that changes often is printed after a wait, and new choices are printed immediately", () => {
  const board = (word: string, action: string): Message =>
    message("hangman_board", `Hangman\n\n${word}`, { buttons: choices(action) });
  expect(decide(board("a _ _", "x"), after(board("_ _ _", "x"), 400))).toEqual({ type: "wait", ms: 9_400 });
  expect(decide(board("a _ _", "x"), after(board("_ _ _", "x")), GAP_MS)).toEqual([
    "a _ _",
    "1 x  (answer with !1)",
  ]);
  expect(decide(board("a _ _", "y"), after(board("_ _ _", "x")))).toEqual(["a _ _", "1 y  (answer with !1)"]);
});

test("an update of a message that was never printed is printed as a whole", () => {
  expect(decide(message("answer_update", QUESTION), undefined)).toEqual([
    "Question 1",
    "> Which is the capital?",
  ]);
});
