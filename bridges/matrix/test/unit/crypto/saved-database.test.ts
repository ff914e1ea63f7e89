import { appendFileSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../../../../../test/harness/folder";
import {
  completed,
  openDatabase,
  resultOf,
  rowsOf,
  type Database,
  type IndexedDb,
} from "../../../crypto/indexed-db";
import { loadCrypto } from "../../../crypto/load-library";
import type { RowLimit } from "../../../crypto/row-limits";
import { SavedDatabase } from "../../../crypto/saved-database";

const folder = testFolder();
let db: IndexedDb;
beforeAll(async () => {
  ({ db } = await loadCrypto());
});

let databases = 0;

/** Opens the file as a new process does, with a separate in-memory database. */
async function start(file: string, limits?: Readonly<Record<string, RowLimit>>) {
  databases += 1;
  const name = `${file} ${databases}`;
  const options = { name, path: join(folder, file), report: () => undefined };
  const saved = await SavedDatabase.open(db, { ...options, ...(limits && { limits }) });
  const opened = await openDatabase(db, name, 1, (created) => {
    created.createObjectStore("plain", {});
    created.createObjectStore("indexed", {}).createIndex("color", "color", { unique: false });
  });
  await saved.saveShape();
  return { saved, opened };
}

/** Writes in one transaction. */
async function put(
  opened: Database,
  rows: Readonly<Record<string, unknown>>,
  store = "plain",
): Promise<void> {
  const transaction = opened.transaction([store], "readwrite");
  const done = completed(transaction);
  for (const [key, value] of Object.entries(rows)) transaction.objectStore(store).put(value, key);
  await done;
}

const rows = async (opened: Database, store = "plain") =>
  Object.fromEntries(await rowsOf(opened.transaction([store], "readonly").objectStore(store)));

test("a crash loses only the writes since the last save", async () => {
  const first = await start("crash.jsonl");
  await put(first.opened, { a: 1, b: { list: [1, "two", null] } });
  await put(first.opened, { red: { color: "red" } }, "indexed");
  const transaction = first.opened.transaction(["plain"], "readwrite");
  transaction.objectStore("plain").delete("a");
  await completed(transaction);
  await first.saved.save();
  await put(first.opened, { c: 3 });

  const second = await start("crash.jsonl");
  expect(await rows(second.opened)).toEqual({ b: { list: [1, "two", null] } });
  const index = second.opened.transaction(["indexed"], "readonly").objectStore("indexed").index("color");
  expect(await resultOf((index as unknown as { get(key: string): never }).get("red"))).toEqual({
    color: "red",
  });
});

test("a transaction is saved as a whole, and an aborted transaction is not saved", async () => {
  const first = await start("whole.jsonl");
  await put(first.opened, { a: 1 });
  const aborted = first.opened.transaction(["plain"], "readwrite");
  aborted.objectStore("plain").put(2, "b");
  (aborted as unknown as { abort(): void }).abort();
  await expect(completed(aborted)).rejects.toThrow();
  const open = first.opened.transaction(["plain"], "readwrite");
  const done = completed(open);
  open.objectStore("plain").put(3, "c");
  await first.saved.save();
  expect(await rows((await start("whole.jsonl")).opened)).toEqual({ a: 1 });
  await done;
  await first.saved.save();
  expect(await rows((await start("whole.jsonl")).opened)).toEqual({ a: 1, c: 3 });
});

test("a line that a crash left incomplete is skipped, together with its whole transaction", async () => {
  const first = await start("torn.jsonl");
  await put(first.opened, { a: 1 });
  await first.saved.save();
  appendFileSync(join(folder, "torn.jsonl"), '{"writes":[["put","plain","a",2],["put","pl');
  const second = await start("torn.jsonl");
  expect(await rows(second.opened)).toEqual({ a: 1 });
  await put(second.opened, { b: 2 });
  await second.saved.save();
  expect(await rows((await start("torn.jsonl")).opened)).toEqual({ a: 1, b: 2 });
});

test("writes that could not be saved are saved later, in their order", async () => {
  const path = join(folder, "full.jsonl");
  const { saved, opened } = await start("full.jsonl");
  renameSync(path, `${path}.away`);
  mkdirSync(path);
  await put(opened, { a: "old" });
  const failed = saved.save();
  await put(opened, { a: "new" });
  const failedToo = saved.save();
  await expect(failed).rejects.toThrow("EISDIR");
  await expect(failedToo).rejects.toThrow("EISDIR");
  rmSync(path, { recursive: true });
  renameSync(`${path}.away`, path);
  await saved.save();
  expect(await rows((await start("full.jsonl")).opened)).toEqual({ a: "new" });
});

test("a value that JSON would change is rejected", async () => {
  const { opened } = await start("bytes.jsonl");
  const store = () => opened.transaction(["plain"], "readwrite").objectStore("plain");
  expect(() => store().put(new Uint8Array(3), "a")).toThrow("plain");
  expect(() => store().put({ at: new Date() }, "a")).toThrow("plain");
});

test("the oldest rows beyond the limits are removed, and stay removed", async () => {
  const limits = { plain: { rowsMax: 3, ofSenderMax: 2 } };
  const { saved, opened } = await start("limits.jsonl", limits);
  const of = (sender: string) => ({ sender_key: sender });
  await put(opened, { z: of("eve"), y: of("eve"), x: of("eve") });
  await put(opened, { z: of("eve") });
  await saved.removeSurplus();
  // A row that was written again is no longer the oldest row.
  expect(Object.keys(await rows(opened))).toEqual(["x", "z"]);
  await put(opened, { a: of("ann"), b: of("bob") });
  await saved.save();

  const second = await start("limits.jsonl", limits);
  await second.saved.removeSurplus();
  expect(Object.keys(await rows(second.opened))).toEqual(["a", "b", "z"]);
});
