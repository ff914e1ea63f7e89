import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FORMAT } from "../../core/domain/store-format";

const ROOT = join(__dirname, "../..");
const RECORDED = "test/unit/stored-forms.txt";
const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

/** Returns the names and types of all keys, from the table in keys.ts, and the stored names of all fields of the state. */
function storedForms(): readonly string[] {
  const rows = [...read("core/store/keys.ts").matchAll(/^ \* \| (`:[^|]*?) *\| *([^|]*?) *\|/gm)];
  const fields = /^local STATE = \{$(.*?)^\}$/ms.exec(read("core/store/functions/state.lua"))?.[1] ?? "";
  return [
    ...rows.map(([, name = "", type = ""]) => `key ${name} ${type}`),
    ...[...fields.matchAll(/^ {2}(\w+) = '(\w+)',$/gm)].map(
      ([, name = "", stored = ""]) => `field ${name} ${stored}`,
    ),
  ].toSorted();
}

const ADVICE = `The stored forms have changed.
- If you removed or renamed a key or a field, or changed what it means, cores of the release before would misread the data: restore
  it, or raise FORMAT and write a migration (docs/decisions/0040-store-format.md).
- If you only added a key or a field that every release can do without, add it to ${RECORDED}.`;

test("the keys and the fields of the state are those that were recorded for this format", () => {
  const [head, ...recorded] = read(RECORDED).trimEnd().split("\n");
  const now = storedForms();
  expect(now.length).toBeGreaterThan(60);
  const changes = [
    ...recorded.filter((form) => !now.includes(form)).map((form) => `- ${form}`),
    ...now.filter((form) => !recorded.includes(form)).map((form) => `+ ${form}`),
  ];
  if (changes.length > 0) throw new Error([ADVICE, ...changes].join("\n"));
  expect(head).toBe(`format ${FORMAT}`);
});
