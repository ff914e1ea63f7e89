// Writes the tables of settings into docs/settings.md, from the settings that the
// programs read. `--check` writes nothing, and fails when the tables are out of date. `--list`
// prints the names of the settings. Needs dist/.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { format } from "./format.mjs";

const PAGE = "docs/settings.md";
const require = createRequire(import.meta.url);
const runtime = require("../dist/runtime/settings.js");

/** Additions to the descriptions of settings. Each key must be the name of an existing setting. */
const NOTES = {
  CHAT_DASHBOARD:
    "whether the demo's chat signs its members in to the dashboard, limited to the demo's workspace; only while both listen on loopback",
  CHAT_OBSERVE:
    "whether `/observe` on the listener for pushes returns what the chat shows, to clients with the signing secret",
  CORE_TOKENS:
    "see [names and workspaces of tokens](tokens.md#names-and-workspaces-of-tokens); tokens of 16 characters or more, of visible ASCII without commas; without this setting and `CORE_TOKENS_FILE`, core listens on loopback only, and rejects every call except health checks",
  CORE_TOKEN: "unless `CORE_TOKEN_FILE` is set",
  CORE_TOKENS_FILE:
    "core accepts these tokens beside those of `CORE_TOKENS`; at most 256 KB and 1,000 tokens, and lines that begin with `#` are comments; see [add a token](tokens.md#add-a-token)",
  DASHBOARD_LISTEN: "put TLS in front of it",
  DASHBOARD_TOKEN:
    "the chat signs everyone who opens it in to the dashboard, and accepts only a token that is limited to its workspace; unset: members sign in themselves",
  DEMO: "whether the demo game and chat run",
  DEMO_CHAT_URL: "`npm start` sets it; see [the dashboard](../dashboard/README.md#decisions)",
  DNS_SERVERS: "unset: the hosts file, then the system's",
  DRAIN_SECONDS: "see [Stopping](upgrade.md#stopping)",
  EDGE_LISTEN: "put TLS in front of it",
  FOLLOW_GROUP: "unset: the name of the game",
  GAMES: "unset: only this game",
  LOG_LEVEL:
    "how much is logged; `debug` and `trace` add no lines, but stop the suppression of repeated lines",
  MAIL_FROM: "requires `SMTP_URL`",
  MODE_SOCKET:
    "Unix socket of the program that sets the target URL when a member switches the mode; `npm start` provides one",
  PUSH_CA: "e.g. your own CA; `NODE_EXTRA_CA_CERTS` has no effect on pushes",
  PUBLIC_URL: "unset: where the edge listens",
  REDIS_URL: "see [Redis](redis.md)",
  REDIS_WAIT_REPLICAS: "see [What replication may lose](redis.md#what-replication-may-lose)",
  SHARDS: "later starts with another number fail",
  SMTP_URL: "unset: emails are logged",
  TARGET_URL: "unset: the address of this listener",
};

const PROGRAMS = {
  core: { file: "core/config.js", read: "readCoreConfig" },
  edge: { file: "edge/config.js", read: "readEdgeConfig" },
  game: { file: "demo/game/config.js", read: "readGameConfig" },
  chat: { file: "demo/chat/config.js", read: "readChatConfig" },
  start: { file: "deploy/local/start-settings.js", read: "readStartSettings" },
};

/**
 * Calls the function that reads a program's settings, as if every setting were set. Returns the settings that the
 * function reads, by name.
 */
function settingsOf({ file, read }) {
  const asked = new Map();
  const note = (name, more) => asked.set(name, { ...asked.get(name), ...more });
  const recorder = {
    parsed(name, what, parse, fallback) {
      note(name, { what, fallback: fallback ?? asked.get(name)?.fallback });
      try {
        return parse(fallback ?? "");
      } catch {
        return undefined;
      }
    },
    text(name, what, fallback) {
      note(name, { ...(what && { what }), fallback });
      return what ? (fallback ?? "x") : "x";
    },
    hostPort(name, what, fallback) {
      note(name, { what, fallback: fallback ?? asked.get(name)?.fallback });
      return { host: "localhost", port: 0 };
    },
    integer(name, what, { min, max }, fallback) {
      note(name, { what: `${what}, ${min} to ${max}`, fallback: String(fallback) });
      return fallback;
    },
    choice(name, choices, fallback) {
      note(name, { what: `one of ${choices.map((each) => `\`${each}\``).join(", ")}`, fallback });
      return fallback;
    },
    file(name, what) {
      note(name, { what: `file: ${what}`, fallback: "" });
      return Buffer.from("pem");
    },
    namedFile(name, what) {
      note(name, { what: `file: ${what}`, fallback: "" });
      return undefined;
    },
    isSet(name) {
      note(name, { fallback: "" });
      return true;
    },
    fault() {},
  };
  const original = runtime.readSettings;
  runtime.readSettings = (_environment, reader) => reader(recorder);
  try {
    require(`../dist/${file}`)[read]({});
  } finally {
    runtime.readSettings = original;
  }
  return asked;
}

const row = ([name, { what, fallback }]) => {
  const standard = fallback === undefined ? "required" : fallback.trim() === "" ? "none" : `\`${fallback}\``;
  const meaning = [what, NOTES[name]].filter(Boolean).join("; ").replaceAll("|", "\\|");
  return `| \`${name}\` | ${standard} | ${meaning} |`;
};

const tableOf = (program) =>
  ["| Variable | Default | Meaning |", "| --- | --- | --- |", ...[...settingsOf(program)].map(row)].join(
    "\n",
  );

async function withTables(page) {
  let text = page;
  for (const [name, program] of Object.entries(PROGRAMS)) {
    const [begin, end] = [`<!-- settings of ${name} -->`, `<!-- end of settings of ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`${PAGE} lacks the markers ${begin} and ${end}`);
    text = `${text.slice(0, from + begin.length)}\n\n${tableOf(program)}\n\n${text.slice(to)}`;
  }
  return format(PAGE, text);
}

const known = new Set(Object.values(PROGRAMS).flatMap((program) => [...settingsOf(program).keys()]));
const strays = Object.keys(NOTES).filter((name) => !known.has(name));
if (strays.length > 0) throw new Error(`NOTES has settings that no program reads: ${strays.join(", ")}`);

const page = readFileSync(PAGE, "utf8");
const fresh = await withTables(page);
if (process.argv.includes("--list")) process.stdout.write(`${[...known].join("\n")}\n`);
else if (!process.argv.includes("--check")) writeFileSync(PAGE, fresh);
else if (fresh !== page) {
  process.stderr.write(`${PAGE} has outdated tables of settings. Run: npm run settings-table\n`);
  process.exitCode = 1;
}
