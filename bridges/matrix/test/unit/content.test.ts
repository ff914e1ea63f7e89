import type { Button, Message } from "chat-bridge-kit";
import * as fc from "fast-check";
import { toContent, toEdit } from "../../chat/content";

function message(text: string, ...rows: readonly (readonly Button[])[]): Message {
  return { id: "msg", kind: "card", text, buttons: rows, image: null, awaitsReply: false, data: null };
}
const action = (label: string): Button => ({ label, action: label });

test("a message has a plain and a formatted version, and mentions nobody", () => {
  const rows = [
    [action("A · <Paris>")],
    [action("B"), { label: "More & more", url: "https://e.org/?a=1&b=2" }],
  ];
  expect(toContent(message("**Which**\ncity?", ...rows), "!")).toEqual({
    msgtype: "m.text",
    format: "org.matrix.custom.html",
    body: "Which\ncity?\n\n1️⃣ A · <Paris>\n2️⃣ B\n🔗 More & more (https://e.org/?a=1&b=2)",
    formatted_body:
      "<p><strong>Which</strong><br>city?</p><p>1️⃣ A · &lt;Paris&gt;<br>2️⃣ B<br>" +
      '🔗 <a href="https://e.org/?a=1&amp;b=2">More &amp; more</a></p>',
    "m.mentions": {},
  });
});

test("from the tenth choice on, the text says what to type", () => {
  const labels = Array.from({ length: 10 }, (_, i) => action(`L${i + 1}`));
  const { body } = toContent(message("Pick", labels), "?");
  expect(body).toContain("9️⃣ L9\n?10 L10\n");
  expect(body).toContain("type a number, e.g. ?10");
});

test("a link whose scheme is not allowed is shown as its label only, and a label is always one line", () => {
  const { formatted_body: html } = toContent(
    message("x", [{ label: "run\nme", url: "javascript:alert(1)" }]),
    "!",
  );
  expect(html).toBe("<p>x</p><p>🔗 run me</p>");
});

const LONG: readonly (readonly [string, string])[] = [
  ["ASCII", "a".repeat(70_000)],
  ["emoji", "😀".repeat(20_000)],
  ["markup", "**<&>**".repeat(20_000)],
  ["control characters", "\u0001".repeat(9_000)],
  ["backslashes", "\\".repeat(64_000)],
  ["quotes", '"'.repeat(60_000)],
];

test.each(LONG)(
  "an edit of a text that is too long fits into an event, with its choices: %s",
  (_what, text) => {
    const rows = [[action("Yes"), action("No")], [{ label: "More", url: "https://e.org/" }]];
    const content = toContent(message(text, ...rows), "!", "https://e.org/a.png");
    const edit = JSON.stringify(toEdit("$event", content));
    expect(Buffer.byteLength(edit)).toBeLessThan(60_000);
    expect(edit.isWellFormed()).toBe(true);
    expect(content.body.slice(-120)).toMatch(
      /…\n\n🖼 Picture \(https:\/\/e.org\/a.png\)\n1️⃣ Yes\n2️⃣ No\n🔗 More \(https:\/\/e.org\/\)$/u,
    );
    // The text fills the space that the choices leave.
    expect(Buffer.byteLength(edit)).toBeGreaterThan(50_000);
  },
);

test("choices that are too long are cut at the end of a line", () => {
  const rows = Array.from({ length: 300 }, (_, i) => [action(`${i + 1} ${"x".repeat(100)}`)]);
  const lines = toContent(message("Pick", ...rows), "!").body.split("\n");
  expect(lines.slice(0, 3)).toEqual(["Pick", "", `1️⃣ 1 ${"x".repeat(100)}`]);
  expect(lines.at(-1)).toBe("…");
  const choices = lines.slice(11, -1);
  expect(choices.length).toBeGreaterThan(150);
  for (const line of choices) expect(line).toMatch(/^!(\d+) \1 x{100}$/);
});

test("a message without text whose choices are too long begins with the first choice", () => {
  const rows = Array.from({ length: 300 }, (_, i) => [action(`${i + 1} ${"x".repeat(100)}`)]);
  expect(toContent(message("", ...rows), "!").body).toMatch(/^1️⃣ 1 x/u);
});

test("an edit of any message fits into an event", () => {
  const character = fc.oneof(
    fc.constantFrom("a", "\\", '"', "\u0001", "\u2028", "é", "😀", "*", "`", "\n", "<"),
    fc.string(),
  );
  const long = fc
    .tuple(fc.array(character, { maxLength: 20 }), fc.nat(3_000))
    .map(([all, n]) => all.join("").repeat(n));
  const bounded = long.map((text) => text.slice(0, 70_000).toWellFormed());
  const labels = fc.array(bounded, { maxLength: 20 });
  fc.assert(
    fc.property(bounded, labels, (text, all) => {
      const content = toContent(message(text, all.map(action)), "!");
      const edit = JSON.stringify(toEdit("$event", content));
      expect(Buffer.byteLength(edit)).toBeLessThan(60_000);
      expect(edit.isWellFormed()).toBe(true);
      // Encryption makes an event a third longer.
      const short = toEdit("$event", toContent(message(text, all.map(action)), "!", undefined, true));
      expect(Buffer.byteLength(JSON.stringify(short))).toBeLessThan(45_000);
    }),
    { numRuns: 30 },
  );
});
