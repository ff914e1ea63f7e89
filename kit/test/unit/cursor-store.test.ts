import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cursorFile, cursorInMemory } from "../../cursor-store";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cb-cursor-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  ["a file", () => cursorFile(join(folder, "cursor"))],
  ["memory", cursorInMemory],
])("a store in %s returns the last saved cursor", async (_what, open) => {
  const store = open();
  expect(await store.load()).toBeUndefined();
  await store.save("17");
  await store.save("000000000000000018");
  expect(await store.load()).toBe("000000000000000018");
});

test.each(["", "latest", "17 18", "1234567890123456789"])(
  "a file that holds %j is rejected",
  async (text) => {
    writeFileSync(join(folder, "cursor"), text);
    await expect(cursorFile(join(folder, "cursor")).load()).rejects.toThrow("cursor: remove the file");
  },
);

test("the old cursor is kept if the new cursor cannot be written", async () => {
  const path = join(folder, "cursor");
  await cursorFile(path).save("17");
  expect(readdirSync(folder)).toEqual(["cursor"]);
  // A folder occupies the path of the temporary file, so even a superuser cannot create that file.
  mkdirSync(`${path}.${process.pid}.new`);
  chmodSync(`${path}.${process.pid}.new`, 0o500);
  await expect(cursorFile(path).save("18")).rejects.toThrow();
  expect(await cursorFile(path).load()).toBe("17");
});
