import { choiceLines, numberedChoices } from "../../render";

const JOIN = { label: "Join", action: "join:1" };
const RULES = { label: "Read  more\n", url: "https://a.example/rules" };
const LEAVE = { label: "Leave", action: "leave:1" };
const ROWS = [[JOIN, RULES], [], [LEAVE]];

test("buttons with an action are numbered in reading order, and links have no number", () => {
  expect(numberedChoices(ROWS)).toEqual([
    { label: "Join", number: 1, action: "join:1" },
    { label: "Read more", url: "https://a.example/rules" },
    { label: "Leave", number: 2, action: "leave:1" },
  ]);
});

test("each button is shown as one line of plain text", () => {
  expect(choiceLines(ROWS)).toEqual(["1. Join", "Read more: https://a.example/rules", "2. Leave"]);
  expect(choiceLines([])).toEqual([]);
});

test("with a prefix, the last line says how members answer", () => {
  expect(choiceLines(ROWS, "!").at(-1)).toBe("(answer with !1 or !2)");
  expect(choiceLines([[JOIN]], "#").at(-1)).toBe("(answer with #1)");
  expect(choiceLines([[JOIN, LEAVE, JOIN]], "!").at(-1)).toBe("(answer with !1 to !3)");
  expect(choiceLines([[JOIN]], "!", true).at(-1)).toBe("(press with !1, or type your answer)");
  expect(choiceLines(ROWS, "!", true).at(-1)).toBe("(press with !1 or !2, or type your answer)");
  expect(choiceLines([[RULES]], "!")).toEqual(["Read more: https://a.example/rules"]);
});
