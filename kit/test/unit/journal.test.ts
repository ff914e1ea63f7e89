import { mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../../../test/harness/folder";
import { openJournal } from "../../journal";

const folder = testFolder();
const NEW_FILE = `journal.jsonl.${process.pid}.new`;

test("a written value is accepted even if the file cannot be compacted, and a later compaction succeeds", async () => {
  const path = join(folder, "journal.jsonl");
  const problems: string[] = [];
  const options = {
    growthMax: 1_000,
    keep: (values: Iterable<unknown>) => ([...values] as object[]).slice(-3),
    report: ({ message }: Error) => problems.push(message),
  };
  const journal = openJournal(path, options);
  await journal.load();
  // The folder prevents the kit from writing the compacted file.
  mkdirSync(join(folder, NEW_FILE, "blocked"), { recursive: true });
  for (let n = 0; n < 100; n++) {
    await journal.append({ n, text: "x".repeat(10) });
    expect(readFileSync(path, "utf8")).toContain(`{"n":${n},`);
  }
  expect(problems[0]).toContain(`cannot compact ${path} (`);
  // Each attempt waits until the file has grown again.
  expect(problems).toHaveLength(2);
  rmSync(join(folder, NEW_FILE), { recursive: true });
  for (let n = 100; n < 160; n++) await journal.append({ n, text: "x".repeat(10) });
  expect(statSync(path).size).toBeLessThan(2_000);
  expect(await openJournal(path, options).load()).toMatchObject([{ n: 157 }, { n: 158 }, { n: 159 }]);
});
