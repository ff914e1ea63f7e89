import { asksForHelp, readChoice, readCommand } from "../../typed-text";

const TYPING = { COMMAND_PREFIX: "!", COMMAND_WORD: "play" };

test.each([
  ["!play", ""],
  ["  !Play   start  now ", "start  now"],
  ["!playing", undefined],
  ["play start", undefined],
  ["please !play", undefined],
])("a command in a typed line is recognized: %p is %p", (line, text) => {
  expect(readCommand(line, TYPING)).toBe(text);
});

test.each([
  ["!3", false, 3],
  ["3", false, undefined],
  ["3", true, 3],
  [" !12 ", true, 12],
  ["!0", false, undefined],
  ["!100", false, undefined],
  ["!3 please", false, undefined],
])(
  "the number of a typed choice is read: %p (in a direct conversation: %p) is %p",
  (line, isDirect, number) => {
    expect(readChoice(line, TYPING, isDirect)).toBe(number);
  },
);

test.each([
  ["help", true],
  [" !Help ", true],
  ["help?", true],
  ["help me", false],
  ["help привет", false],
  ["!play help", false],
])("a line that asks for help is recognized: %p is %p", (line, isHelp) => {
  expect(asksForHelp(line)).toBe(isHelp);
});
