import * as fc from "fast-check";
import { responseText } from "../../core/domain/response-text";
import { forAll } from "../harness/for-all";

const text = (bytes: string | Uint8Array, isTruncated = false) =>
  responseText({ bytes: Buffer.from(bytes as string), isTruncated });

test.each([
  ["plain text", "no such channel", "no such channel"],
  ["several lines and tabs", "a\r\n\tb\nc", "a\n\tb\nc"],
  ["escape sequences", "\x1b[31mred\x07", "\ufffd[31mred\ufffd"],
  ["a bare carriage return", "over\rwritten", "over\ufffdwritten"],
  ["C1 control characters", "a\x9bb", "a\ufffdb"],
  ["other languages", "ошибка 🎲", "ошибка 🎲"],
  ["markup", "<script>alert(1)</script>", "<script>alert(1)</script>"],
])("the text of a response with %s has no control characters", (_what, body, shown) => {
  expect(text(body)).toBe(shown);
});

test("bytes that are not UTF-8 are replaced; a character that is cut off at the maximum length is omitted", () => {
  expect(text(Buffer.from([0x61, 0xff, 0xfe, 0x62]))).toBe("a\ufffd\ufffdb");
  const cut = Buffer.from("é🎲").subarray(0, 4);
  expect([text(cut, true), text(cut)]).toEqual(["é", "é\ufffd"]);
});

test("for any bytes, the text has no control characters except tabs and line feeds, and no lone surrogates", () => {
  forAll(fc.uint8Array({ maxLength: 1_024 }), fc.boolean(), (bytes, isTruncated) => {
    const shown = text(bytes, isTruncated);
    expect(shown).not.toMatch(/(?![\t\n])\p{Cc}|\p{Cs}/u);
    expect(shown.length).toBeLessThanOrEqual(bytes.length);
  });
});
