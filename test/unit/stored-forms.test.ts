import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FORMAT } from "../../core/domain/store-format";

const ROOT = join(__dirname, "../..");
const RECORDED = "test/unit/stored-forms.txt";
const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

/**
 * Returns the names and types of all keys, from the table in keys.ts. Also returns the stored names of the state's
 * fields, and the positions of the facts that are packed in one field.
 */
function storedForms(): readonly string[] {
  const rows = [...read("core/store/keys.ts").matchAll(/^ \* \| (`:[^|]*?) *\| *([^|]*?) *\|/gm)];
  const state = read("core/store/functions/state.lua");
  const [fields = "", facts = ""] = ["STATE", "HELD_FACTS"].map(
    (name) => new RegExp(`^local ${name} = \\{$(.*?)^\\}$`, "ms").exec(state)?.[1],
  );
  return [
    ...rows.map(([, name = "", type = ""]) => `key ${name} ${type}`),
    ...[...fields.matchAll(/^ {2}(\w+) = '(\w+)',$/gm)].map(
      ([, name = "", stored = ""]) => `field ${name} ${stored}`,
    ),
    ...[...facts.matchAll(/^ {2}'(\w+)',$/gm)].map(([, name = ""], place) => `held fact ${place} ${name}`),
    `format of held facts ${/FACTS_FORMAT = '(.*)'/.exec(state)?.[1] ?? ""}`,
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
