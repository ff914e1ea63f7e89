import type { Button, Message } from "chat-bridge-kit";
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

test("links to other schemes are shown without the link, and labels are one line", () => {
  const { formatted_body: html } = toContent(
    message("x", [{ label: "run\nme", url: "javascript:alert(1)" }]),
    "!",
  );
  expect(html).toBe("<p>x</p><p>🔗 run me</p>");
});

test.each([
  ["ASCII", "a".repeat(70_000)],
  ["emoji", "😀".repeat(20_000)],
  ["markup", "**<&>**".repeat(9_000)],
])("an edit of a text that is too long fits into an event: %s", (_what, text) => {
  const edit = JSON.stringify(toEdit("$event", toContent(message(text), "!")));
  expect(Buffer.byteLength(edit)).toBeLessThan(60_000);
  expect(edit.isWellFormed()).toBe(true);
});
