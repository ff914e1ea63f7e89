import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CHANGES_LOGGED_MAX, SENDS_LOGGED_MAX } from "../../contract/changes";
import {
  DROP_REASONS,
  FAILED_MAX,
  FAILED_MAX_BYTES,
  FAILED_SECONDS,
  LOGGED_SECONDS,
  POLLS_LOGGED_MAX,
  PUSHES_LOGGED_MAX,
  RESPONSE_SECONDS,
  RESPONSES_MAX,
  SENT_AGAIN_MAX,
  SHOWN_EVENTS_MAX,
  SHOWN_EVENTS_MAX_BYTES,
  TESTS_LOGGED_MAX,
} from "../../contract/deliveries";
import {
  FAILING_AFTER_MS,
  HELD_SECONDS,
  POLLED_LATELY_MS,
  REQUEST_ID_SECONDS,
  TIMESTAMP_TOLERANCE_SECONDS,
} from "../../contract/numbers";
import { REQUEST_BUCKETS, REQUEST_BUCKET_MINUTES } from "../../contract/requests";
import { DEGRADED_FOR_MS, RECOVERED_FOR_MS } from "../../contract/health-states";
import { GROUPS_MAX } from "../domain/bounds";
import {
  OPERATOR_EVENT_EVERY_MS,
  OPERATOR_EVENT_SECONDS,
  OPERATOR_EVENTS_MAX,
  OPERATOR_EVENTS_WORKSPACE_MAX,
  PUSH_FAILING_AFTER_MS,
} from "../domain/operator-event";
import { STATE_RANKS } from "./state-ranks";

/**
 * The files of the function library, in the order in which they are joined. A file can use local functions of earlier
 * files.
 */
const FILES = [
  "library",
  "mark",
  "state",
  "leases",
  "limiters",
  "admit",
  "backlog",
  "room",
  "groups",
  "append",
  "held",
  "states",
  "operator",
  "health",
  "failed",
  "log",
  "hold",
  "push",
  "again",
  "entry",
  "event",
  "requests",
  "workspace",
  "sealed",
  "follow",
];

/** The files of the library that converts the data to another format. */
const MIGRATION_FILES = ["library", "mark", "state", "held", "blocks", "migrate"];

/**
 * The files whose local variables no other file uses. Each of them is a block, because Lua allows only 200 local
 * variables outside blocks.
 */
const BLOCKS: ReadonlySet<string> = new Set(["admit", "groups", "append", "push", "entry", "follow"]);

/** The constants that the library uses. In the Lua source, each of these names is written between two `@`. */
const CONSTANTS: Readonly<Record<string, number | string>> = {
  CHANGES_LOGGED_MAX,
  DEGRADED_FOR_MS,
  /** A Lua table whose keys are the drop reasons. */
  DROP_REASONS: `{ ${DROP_REASONS.map((reason) => `['${reason}'] = true`).join(", ")} }`,
  FAILED_MAX,
  FAILED_MAX_BYTES,
  FAILED_SECONDS,
  FAILING_AFTER_MS,
  GROUPS_MAX,
  HELD_SECONDS,
  LOGGED_SECONDS,
  OPERATOR_EVENT_EVERY_MS,
  OPERATOR_EVENT_SECONDS,
  OPERATOR_EVENTS_MAX,
  OPERATOR_EVENTS_WORKSPACE_MAX,
  POLLED_LATELY_MS,
  POLLS_LOGGED_MAX,
  PUSH_FAILING_AFTER_MS,
  PUSHES_LOGGED_MAX,
  REQUEST_BUCKET_MINUTES,
  REQUEST_BUCKETS,
  RECOVERED_FOR_MS,
  REQUEST_ID_SECONDS,
  RESPONSE_SECONDS,
  RESPONSES_MAX,
  SENDS_LOGGED_MAX,
  SENT_AGAIN_MAX,
  SHOWN_EVENTS_MAX,
  SHOWN_EVENTS_MAX_BYTES,
  /** A Lua table from the names of the states to their ranks. */
  STATE_RANKS: `{ ${Object.entries(STATE_RANKS)
    .map(([state, rank]) => `['${state}'] = '${rank}'`)
    .join(", ")} }`,
  TESTS_LOGGED_MAX,
  TIMESTAMP_TOLERANCE_SECONDS,
};

/** A library of functions in Lua. */
export interface Library {
  /** A hash of the source. The names of the functions end with `_<version>`. */
  readonly version: string;
  readonly name: string;
  readonly code: string;
}

/**
 * Reads the library. The names of the library and its functions contain a hash of the source. So cores of two releases
 * can share one Redis, which then contains a library for each release.
 */
export function readLibrary(): Library {
  return joinFiles(FILES, CONSTANTS);
}

/** Reads the library that converts the data to another format. */
export function readMigrationLibrary(): Library {
  return joinFiles(MIGRATION_FILES, CONSTANTS);
}

function joinFiles(files: readonly string[], constants: typeof CONSTANTS): Library {
  const parts = files.map((file) => {
    const text = readFileSync(join(__dirname, "functions", `${file}.lua`), "utf8");
    return BLOCKS.has(file) ? `do\n${text}\nend` : text;
  });
  const source = parts.join("\n").replace(/@([A-Z_]{2,})@/g, (_text, name: string) => {
    const constant = constants[name];
    if (constant === undefined)
      throw new TypeError(`the function library names an unknown constant: ${name}`);
    return String(constant);
  });
  const version = createHash("sha256").update(source).digest("hex").slice(0, 12);
  const name = `chatbridge_${version}`;
  return { version, name, code: `#!lua name=${name}\n${source.replaceAll("@V@", version)}` };
}
