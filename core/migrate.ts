import { parseArgs } from "node:util";
import { SettingsError } from "../runtime/settings";
import { VERSION_TEXT } from "../runtime/version";
import { readMigrationConfig } from "./config";
import { FORMAT, KNOWN_FORMATS, releasesOf, type KnownFormat } from "./domain/store-format";
import { StoreUnavailable } from "./ports/store-faults";
import { UnfitStore } from "./store/mark";
import { CoresAlive } from "./store/migration/live-cores";
import {
  checkStore,
  migrateStore,
  type Migrated,
  type MigrationReporter,
  type Survey,
} from "./store/migration/migrate-store";
import { MigrationLocked } from "./store/migration/migration-lock";
import { redisFault } from "./store/redis/fault-words";

const HELP = `Converts the data in Redis to the format of another release. First stop all cores, of all releases.

  node dist/core/main.js migrate             convert the data to format ${FORMAT}, which this release serves
  node dist/core/main.js migrate --to 1      convert the data to format 1, to go back to release 1.0.0-beta.1
  node dist/core/main.js migrate --dry-run   only count what would be converted; cores may run
  node dist/core/main.js migrate --check     only say whether cores of this release can start; exits with 0 or 78
  node dist/core/main.js migrate --help      print this page

The settings are core's: REDIS_URL, REDIS_CA, REDIS_WAIT_REPLICAS and SHARDS. While the migration runs, no core can start.
If it is interrupted, run it again: it continues. See docs/upgrade.md.

Exit codes: 0 done, or nothing to do; 1 failed; 64 wrong usage; 69 Redis is unavailable; 75 a core or another migration
runs; 78 a setting is invalid, or this release cannot convert the data.`;

const EXIT = { DONE: 0, FAILED: 1, USAGE: 64, UNAVAILABLE: 69, BUSY: 75, SETTINGS: 78 } as const;

const print = (text: string): unknown => process.stdout.write(`${text}\n`);
const printError = (text: string): unknown => process.stderr.write(`${text}\n`);

interface Options {
  readonly to: KnownFormat;
  readonly isDryRun: boolean;
  readonly isCheck: boolean;
}

/** Runs `migrate`. Returns the exit code. */
export async function migrate(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  let options: Options | string;
  try {
    options = readOptions(args);
  } catch (error) {
    printError(`${(error as Error).message}\nmigrate --help lists the options`);
    return EXIT.USAGE;
  }
  if (typeof options === "string") {
    print(options);
    return EXIT.DONE;
  }
  try {
    const config = readMigrationConfig(environment);
    if (options.isCheck) {
      await checkStore({ ...config, ...options, reporter: createReporter(options) });
      print(`cores of this release can start: they store format ${FORMAT}`);
      return EXIT.DONE;
    }
    print(textOf(await migrateStore({ ...config, ...options, reporter: createReporter(options) }), options));
    return EXIT.DONE;
  } catch (error) {
    printError(error instanceof SettingsError ? error.message : `cannot migrate: ${faultOf(error)}`);
    return codeOf(error);
  }
}

/**
 * Returns the options, or the text to print for `--help` or `--version`. Throws an Error when an argument is invalid.
 */
function readOptions(args: readonly string[]): Options | string {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: "boolean", short: "h" },
      version: { type: "boolean" },
      to: { type: "string" },
      "dry-run": { type: "boolean" },
      check: { type: "boolean" },
    },
    strict: true,
  });
  if (values.version === true) return VERSION_TEXT;
  if (values.help === true) return HELP;
  const to = KNOWN_FORMATS.find((format) => String(format) === (values.to ?? String(FORMAT)));
  if (to === undefined) throw new Error(`--to must be one of: ${KNOWN_FORMATS.join(", ")}`);
  return { to, isDryRun: values["dry-run"] === true, isCheck: values.check === true };
}

function faultOf(error: unknown): string {
  return error instanceof StoreUnavailable
    ? `${redisFault(error)}; run the migration again`
    : redisFault(error);
}

function codeOf(error: unknown): number {
  if (error instanceof SettingsError || error instanceof UnfitStore) return EXIT.SETTINGS;
  if (error instanceof CoresAlive || error instanceof MigrationLocked) return EXIT.BUSY;
  return error instanceof StoreUnavailable ? EXIT.UNAVAILABLE : EXIT.FAILED;
}

const WAITS = {
  cores: "a core used this Redis a moment ago: waiting until it has stopped",
  migration: "another migration used this Redis a moment ago: waiting until it has stopped",
} as const;

function createReporter({ to, isDryRun }: Options): MigrationReporter {
  let told = "";
  function tell(line: string): void {
    if (line !== told) print(line);
    told = line;
  }
  return {
    unavailable: (error) => tell(`Redis is unavailable: ${redisFault(error)}`),
    waiting: (what) => tell(WAITS[what]),
    begins: (from, isContinued) =>
      tell(
        `${isContinued ? "continues a migration" : "migrates this Redis"} from format ${from} to format ${to}`,
      ),
    surveyed: (survey) =>
      tell([...(isDryRun ? surveyOf(survey) : []), ...(to === 1 ? lossesOf(survey) : [])].join("\n")),
    progress: ({ workspaces, all }) => tell(`${countOf(workspaces)} of ${countOf(all)} workspaces`),
  };
}

const countOf = (count: number): string => count.toLocaleString("en");

function surveyOf({ converted, expired, unserved }: Survey): readonly string[] {
  return [
    `held events that would be converted: ${countOf(converted)}`,
    `held events that are older than a day, which no release serves: ${countOf(expired)}`,
    `held events that could not be converted: ${countOf(unserved)}`,
  ];
}

/** Returns the lines to print about data that release 1.0.0-beta.1 does not know. */
function lossesOf(survey: Survey): readonly string[] {
  const {
    converted,
    results = 0,
    failed = 0,
    changes = 0,
    polls = 0,
    operatorEvents = 0,
    sessions = 0,
  } = survey;
  return [
    "release 1.0.0-beta.1 does not know these data, which stay in Redis for the next upgrade until they expire:",
    `  failed events, for a day: ${countOf(failed)}`,
    `  operator events that are not sent yet, for a day: ${countOf(operatorEvents)}`,
    `  sessions and sign-in links of the dashboard: ${countOf(sessions)}`,
    `  logged changes of workspaces: ${countOf(changes)}`,
    `  logged polls: ${countOf(polls)}`,
    "these data are removed:",
    `  log entries of pushes that were dropped because of an outage of Redis: ${countOf(results)}`,
    `  the names of the tokens that published held events: ${countOf(converted)}`,
  ];
}

function textOf(migrated: Migrated, { to }: Options): string {
  switch (migrated.outcome) {
    case "new":
      return "no core has used this Redis yet: nothing to migrate";
    case "same":
      return `this Redis already has format ${to}: nothing to migrate`;
    case "surveyed":
      return `workspaces: ${countOf(migrated.workspaces)}; nothing was changed`;
    case "migrated": {
      const { workspaces, converted, expired, unserved } = migrated;
      return [
        `done: this Redis now has format ${to}, of release ${releasesOf(to)}, which can start now`,
        `workspaces: ${countOf(workspaces)}`,
        `held events converted: ${countOf(converted)}`,
        `held events older than a day, which no release serves: ${countOf(expired)}`,
        `held events that are not served, because their data is incomplete, or because the bridge was told that they are lost: ${countOf(unserved)}`,
      ].join("\n");
    }
  }
}
