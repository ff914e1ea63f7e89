// Writes test/CONTRACT.md: each sentence of the public contract, with the files whose tests check the sentence. With
// --check, fails when the page is out of date. Also fails when a sentence has no test, or a test names an unknown
// sentence.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parse } from "yaml";
import { format } from "./format.mjs";

const PAGE = "test/CONTRACT.md";
const NAMES = /^\s*\/\/ contract: (.+)$/;
/** Lines that a `// contract:` comment may precede: a test, a group of tests, or a row of a `test.each` table. */
const NAMED = /^\s*(test|describe|\[|\{)/;

const chapters = Object.entries(parse(readFileSync("test/contract.yaml", "utf8")));
const files = new Map(
  chapters.flatMap(([, sentences]) => Object.keys(sentences).map((id) => [id, new Set()])),
);
const faults = [];

const sources = ["test", "kit/test", "kit/game/test"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => join(folder, path)),
);
for (const path of sources.toSorted()) {
  const lines = readFileSync(path, "utf8").split("\n");
  for (const [i, line] of lines.entries()) {
    const ids =
      NAMES.exec(line)?.[1]
        .split(",")
        .map((id) => id.trim()) ?? [];
    if (ids.length > 0 && !NAMED.test(lines[i + 1] ?? ""))
      faults.push(`${path}:${i + 1}: no test follows this comment`);
    for (const id of ids) {
      if (files.has(id)) files.get(id).add(path);
      else faults.push(`${path}:${i + 1}: test/contract.yaml has no sentence "${id}"`);
    }
  }
}
for (const [id, found] of files) if (found.size === 0) faults.push(`${id}: no test names this sentence`);

const table = (sentences) =>
  Object.entries(sentences).map(([id, sentence]) => {
    const links = [...files.get(id)].map((path) => {
      const name = path.replace(/^test\//, "").replace(/\.(test|fault)\.ts$/, "");
      return `[${name}](${relative(dirname(PAGE), path)})`;
    });
    return `| ${sentence.replaceAll("|", "\\|")} | ${links.join(", ")} |`;
  });
const page = [
  "# The contract and its tests",
  `The ${files.size} sentences of the public contract, and the files whose tests name them.`,
  "`npm run contract-page` writes this page from `contract.yaml` and the `// contract:` comments above the tests.",
  ...chapters.flatMap(([chapter, sentences]) => [
    `\n## ${chapter}\n`,
    ["| Sentence | Tests |", "| --- | --- |", ...table(sentences)].join("\n"),
  ]),
].join("\n");
const formatted = await format(PAGE, page);

for (const fault of faults) process.stderr.write(`${fault}\n`);
if (!process.argv.includes("--check")) {
  writeFileSync(PAGE, formatted);
} else if (readFileSync(PAGE, "utf8") !== formatted) {
  faults.push(PAGE);
  process.stderr.write(`${PAGE} is out of date: run npm run contract-page\n`);
}
process.exitCode = faults.length > 0 ? 1 : 0;
