import type { Message } from "chat-bridge-kit";
import { closed, isNewQuestion } from "../../chat/questions";

interface Shape {
  readonly kind: string;
  readonly labels?: readonly string[];
  readonly awaitsReply?: boolean;
}

function message({ kind, labels = [], awaitsReply = false }: Shape): Message {
  const buttons = [labels.map((label) => ({ label, action: `do ${label}` }))];
  return { id: "msg", kind, text: "text", buttons, image: "https://e.org/a.png", awaitsReply, data: null };
}

const LOBBY = { kind: "game_start", labels: ["Join", "Start"] };
const QUESTION = { kind: "question", labels: ["A", "B"] };
const PROMPT = { kind: "question", awaitsReply: true };
const REVEAL = { kind: "time_up" };

test.each<[string, Shape, Shape, boolean]>([
  ["the first question after the lobby", LOBBY, QUESTION, true],
  ["a question after an answer", REVEAL, QUESTION, true],
  ["a question in words after an answer", REVEAL, PROMPT, true],
  ["another question directly after a question", QUESTION, { ...QUESTION, labels: ["C", "D"] }, true],
  ["a question that others have already answered", REVEAL, { ...QUESTION, kind: "answer_update" }, true],
  ["an end with a choice", REVEAL, { kind: "game_end", labels: ["Rematch"] }, true],
  ["one more answer", QUESTION, { ...QUESTION, kind: "answer_update" }, false],
  ["one more answer in words", PROMPT, { ...PROMPT, kind: "answer_update" }, false],
  ["the answer", QUESTION, REVEAL, false],
  ["one more member in the lobby", LOBBY, LOBBY, false],
  ["a lobby with another button", LOBBY, { ...LOBBY, labels: ["Join", "Start", "Leave"] }, false],
  [
    "a card whose button counts",
    { kind: "card", labels: ["Like"] },
    { kind: "card", labels: ["Like 1"] },
    false,
  ],
])("%s is a new question: %s", (_what, before, after, is) => {
  expect(isNewQuestion(message(before), message(after))).toBe(is);
});

test("a closed message has no buttons and no image, and does not wait for a reply", () => {
  const after = closed(message({ kind: "question", labels: ["A"], awaitsReply: true }));
  expect(after).toMatchObject({ text: "text", buttons: [], image: null, awaitsReply: false });
});
