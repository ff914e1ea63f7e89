import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../../../../test/harness/folder";
import { Journal } from "../../state/journal";

const folder = testFolder();
const problems: string[] = [];
const report = ({ message }: Error) => problems.push(message);
const PRINTED = { kind: "card", parts: ["a"], choices: "b", atMs: 1 };

test("a reopened journal returns the sent lines, the printed messages and the waiting updates", () => {
  const path = mkdtempSync(join(folder, "journal-"));
  const first = new Journal(path, report);
  first.noteSent("e1", 1);
  first.noteSent("e1", 2, 400);
  first.notePrinted("m1", PRINTED);
  first.noteWaiting("m1", { eventId: "e2", sequence: 7, expiresAt: null });
  first.close();
  // A crash during a write leaves an incomplete line.
  appendFileSync(join(path, "printed.jsonl"), '{"e":"e1","n":');
  const second = new Journal(path, report);
  expect([second.sentOf("e1"), second.sentOf("e9")]).toEqual([2, 0]);
  expect([second.lineBytesOf("e1"), second.lineBytesOf("e9")]).toEqual([400, undefined]);
  expect(second.printedOf("m1")).toEqual(PRINTED);
  expect(second.waiting()).toEqual([{ messageId: "m1", eventId: "e2", sequence: 7, expiresAt: null }]);
  second.notePrinted("m1", PRINTED);
  expect(second.waiting()).toEqual([]);
  second.close();
});

test("the journal's file stays small after many records", () => {
  const path = mkdtempSync(join(folder, "journal-"));
  const journal = new Journal(path, report);
  for (let i = 0; i < 50_000; i += 1) journal.noteSent(`event-${i}`, 1);
  expect(statSync(join(path, "printed.jsonl")).size).toBeLessThan(1_000_000);
  expect([journal.sentOf("event-0"), journal.sentOf("event-49999")]).toEqual([0, 1]);
  journal.close();
});

test("a journal that cannot be compacted keeps all records, and is compacted later", () => {
  const path = mkdtempSync(join(folder, "journal-"));
  const journal = new Journal(path, report);
  problems.length = 0;
  mkdirSync(join(path, "printed.jsonl.new"));
  for (let i = 0; i < 25_000; i += 1) journal.noteSent(`event-${i}`, 1);
  expect(problems).toEqual([expect.stringMatching(/^cannot compact .*printed.jsonl .*EISDIR/)]);
  expect(readFileSync(join(path, "printed.jsonl"), "utf8")).toContain('"event-24999"');
  rmdirSync(join(path, "printed.jsonl.new"));
  for (let i = 25_000; i < 50_000; i += 1) journal.noteSent(`event-${i}`, 1);
  expect(statSync(join(path, "printed.jsonl")).size).toBeLessThan(1_000_000);
  expect(problems).toHaveLength(1);
  journal.close();
  const second = new Journal(path, report);
  expect([second.sentOf("event-48500"), second.sentOf("event-49999")]).toEqual([1, 1]);
  second.close();
});
