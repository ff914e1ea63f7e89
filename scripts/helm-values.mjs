// Writes the table of the chart's values into docs/kubernetes.md, from deploy/helm/chat-bridge/values.yaml. `--check`
// writes nothing, and fails when the table is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { isMap, parseDocument } from "yaml";
import { format } from "./format.mjs";

const PAGE = "docs/kubernetes.md";
const VALUES = "deploy/helm/chat-bridge/values.yaml";
const [BEGIN, END] = ["<!-- values -->", "<!-- end of values -->"];

/**
 * Maximum length of a default in the table. Longer defaults are lists of networks and rules, which are easier to read
 * in values.yaml.
 */
const DEFAULT_MAX_CHARACTERS = 40;

/** Returns the table's rows for the values of a map. Throws if neither a value nor any of its parts has a comment. */
function rowsOf(map, path) {
  return map.items.flatMap((pair, i) => {
    const name = [...path, String(pair.key)].join(".");
    // The parser assigns the comment before the first key of a nested map to that map. Only the last paragraph counts,
    // because the comment before the file's first key begins with the comment about the whole file.
    const before = pair.key.commentBefore ?? (i === 0 ? map.commentBefore : undefined);
    const comment = before?.split("\n\n").at(-1);
    if (isMap(pair.value) && hasComments(pair.value)) return rowsOf(pair.value, [...path, String(pair.key)]);
    if (comment === undefined) throw new Error(`${VALUES}: ${name} has no comment`);
    const meaning = comment.replaceAll(/\s*\n?\s+/g, " ").trim();
    const json = JSON.stringify(pair.value.toJSON());
    const standard = json.length > DEFAULT_MAX_CHARACTERS ? "see `values.yaml`" : `\`${json}\``;
    return [`| \`${name}\` | ${standard} | ${meaning} |`];
  });
}

const hasComments = (map) =>
  map.commentBefore !== undefined || map.items.some(({ key }) => key.commentBefore !== undefined);

const document = parseDocument(readFileSync(VALUES, "utf8"));
const table = ["| Value | Default | Meaning |", "| --- | --- | --- |", ...rowsOf(document.contents, [])].join(
  "\n",
);

const page = readFileSync(PAGE, "utf8");
const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
if (from < 0 || to < from) throw new Error(`${PAGE} lacks the markers ${BEGIN} and ${END}`);
const text = `${page.slice(0, from + BEGIN.length)}\n\n${table}\n\n${page.slice(to)}`;
const fresh = await format(PAGE, text);

if (!process.argv.includes("--check")) writeFileSync(PAGE, fresh);
else if (fresh !== page) {
  process.stderr.write(`${PAGE} has an outdated table of values. Run: npm run helm-values\n`);
  process.exitCode = 1;
}
