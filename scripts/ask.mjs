// Searches the answers, the guides and the comments of the code: npm run ask -- <question>
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import MiniSearch from "minisearch";
import { stemmer } from "stemmer";

const ROOT = join(import.meta.dirname, "..");
const HELP = `usage: npm run ask -- <question>

Prints the rows of docs/answers that fit the question best, best first, then the questions of further rows, and then
the best sections of the guides and comments of the code, as file:line. Write a whole question or some words, e.g.:

  npm run ask -- is an event lost if the bridge answers 500
`;
/** Maximum number of answer rows that are printed in full. */
const ANSWERS_SHOWN = 10;
/** Maximum number of further answer rows that are printed without the answer. */
const QUESTIONS_SHOWN = 20;
const PLACES_SHOWN = 6;
const LEFT_OUT = /^(?:\..*|node_modules|dist|gen|test|pictures|site)$/;
const COMMENT = /^\s*(?:\/\*\*?|\*\/?|\/\/|--|#)\s?(.*?)(?:\*\/)?$/;
/** Words that say nothing about the subject of a question. */
const STOP_WORDS = new Set(
  (
    "a an and any are as at be been by can do does for from get gets has have how i if in into is it its me my of on " +
    "or our so than that the their them then there they this to us was we what when where which who why will with you"
  ).split(" "),
);

/** Words that readers use for the same thing. The search replaces each word by the first word of its line. */
const SYNONYMS = new Map(
  [
    "create make made generate build produce",
    "delete remove erase drop purge",
    "detect notice recognize recognise",
    "change edit modify update alter",
    "check verify validate",
    "choose decide select pick",
    "limit maximum max most largest biggest longest",
    "outbound outgoing",
    "inbound incoming",
    "repeat again retry resend twice duplicate",
    "fail failure error",
    "stop shutdown quit terminate",
    "unavailable away down unreachable offline",
    "wait pending queued",
    "store save persist keep kept",
    "private internal local",
    "start begin began begun launch boot",
    "resume continue",
    "send sent post",
    "lose lost",
    "hold held",
    "write wrote written",
    "find found",
    "run ran",
    "show shown see saw seen",
    "take taken took",
    "leave left",
    "know knew known",
    "come came",
    "break broke broken",
    "ping mention tag",
    "picture image photo",
    "big large huge size",
    "healthy health",
    "player member user",
    "quick fast",
    "laptop computer machine",
    "temporarily pause suspend",
    "spec specification contract",
    "copy backup",
    "wrong invalid incorrect",
    "authenticate authentication auth login",
  ].flatMap((line) => {
    const [first, ...others] = line.split(" ").map((word) => stemmer(word));
    return others.map((other) => [other, first]);
  }),
);

/** Returns the paths of the files below a folder, relative to the root of the repository. */
function filesIn(folder) {
  return readdirSync(join(ROOT, folder))
    .filter((name) => !LEFT_OUT.test(name))
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(join(ROOT, path)).isDirectory() ? filesIn(path) : [path]));
}

/** Yields the rows of a page of answers. The topic of a row is the page's title and the heading above the row. */
function* answersOf(path, lines) {
  let page;
  let topic;
  for (const [index, line] of lines.entries()) {
    const [, heading] = /^#+ (.+)$/.exec(line) ?? [];
    page ??= heading;
    if (heading !== undefined) topic = `${page} ${heading}`;
    const [, title, text] = /^\| (.+?) +\| (.+?) +\|$/.exec(line) ?? [];
    if (title !== undefined && !/^(?:-+|Question)$/.test(title))
      yield { at: `${path}:${index + 1}`, title, text, topic, isAnswer: true };
  }
}

/** Yields the sections of a guide. The title of a section contains the title of its page. */
function* sectionsOf(path, lines) {
  let page;
  let section = { at: `${path}:1`, title: path, text: "" };
  for (const [index, line] of lines.entries()) {
    const [, heading] = /^#+ (.+)$/.exec(line) ?? [];
    if (heading === undefined) section.text += `${line}\n`;
    else {
      yield section;
      page ??= heading;
      section = {
        at: `${path}:${index + 1}`,
        title: page === heading ? page : `${page}: ${heading}`,
        text: "",
      };
    }
  }
  yield section;
}

/** Yields the comments of a file of code. The title of a comment is the line below the comment. */
function* commentsOf(path, lines) {
  let text = "";
  let from = 0;
  for (const [index, line] of lines.entries()) {
    const [, words] = COMMENT.exec(line) ?? [];
    if (words !== undefined) {
      if (text === "") from = index + 1;
      text += `${words} `;
    } else if (text !== "") {
      yield { at: `${path}:${from}`, title: line.trim(), text };
      text = "";
    }
  }
}

function entriesOf(path) {
  const lines = readFileSync(join(ROOT, path), "utf8").split("\n");
  if (path.startsWith("docs/answers/")) return [...answersOf(path, lines)];
  if (path.endsWith(".md")) return [...sectionsOf(path, lines)];
  return /\.(?:ts|tsx|mts|mjs|lua|proto|sh)$/.test(path) ? [...commentsOf(path, lines)] : [];
}

/**
 * Returns the stem of a word or of its synonym, so that e.g. "resend" finds "retries"; undefined for a stop word.
 */
function processTerm(word) {
  const term = word.toLowerCase();
  const stem = stemmer(term);
  return STOP_WORDS.has(term) ? undefined : (SYNONYMS.get(stem) ?? stem);
}

/** Returns the entries that match the question, best first. */
function search(entries, question) {
  const index = new MiniSearch({
    fields: ["title", "text", "topic"],
    storeFields: ["title", "text", "at", "isAnswer"],
    processTerm,
    tokenize: (text) => text.replaceAll(/([a-z])([A-Z])/g, "$1 $2").split(/[^\p{L}\p{N}]+/u),
    searchOptions: {
      boost: { title: 2, topic: 0.5 },
      prefix: (term) => term.length > 3,
      fuzzy: (term) => (term.length > 5 ? 0.2 : false),
    },
  });
  index.addAll(entries.map((entry, id) => ({ id, ...entry })));
  return index.search(question);
}

const shorten = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);
const oneLine = (text) => text.replaceAll(/\s+/g, " ").trim();

const question = process.argv.slice(2).join(" ").trim();
if (question === "" || question === "--help" || question === "-h") {
  process[question === "" ? "stderr" : "stdout"].write(HELP);
  process.exit(question === "" ? 64 : 0);
}
const found = search(filesIn(".").flatMap(entriesOf), question);
const answers = found.filter(({ isAnswer }) => isAnswer);
const places = found.filter(({ isAnswer }) => !isAnswer).slice(0, PLACES_SHOWN);
const parts = [
  [
    "Answers:",
    answers
      .slice(0, ANSWERS_SHOWN)
      .flatMap(({ title, text, at }) => [title, `  ${text.replaceAll(/\]\([^)]*\)/g, "]")} (${at})`]),
  ],
  [
    "Further questions, whose answers are at:",
    answers.slice(ANSWERS_SHOWN, ANSWERS_SHOWN + QUESTIONS_SHOWN).map(({ title, at }) => `${at}  ${title}`),
  ],
  [
    "Guides and code:",
    places.map(
      ({ title, text, at }) => `${at}  ${shorten(oneLine(title), 70)}: ${shorten(oneLine(text), 100)}`,
    ),
  ],
].filter(([, lines]) => lines.length > 0);
const lines = parts.flatMap(([heading, lines]) => [heading, ...lines.map((line) => `  ${line}`)]);
process.stdout.write(`${lines.join("\n") || "nothing fits: use other words"}\n`);
