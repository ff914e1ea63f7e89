import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates a folder for the tests of a file, and removes the folder after the tests. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cb-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
