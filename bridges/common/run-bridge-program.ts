import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs, parseEnv } from "node:util";
import { FolderInUse, holderOf, lockFolder, type FolderLock } from "chat-bridge-kit/folder-lock";
import type { Logger } from "pino";
import { BRIDGE_SETTINGS, checkBridgeSettings, type BridgeSettings } from "./bridge-settings";
import { createLogger } from "../../runtime/logger";
import { runProcess } from "../../runtime/run-process";
import { readSettings, SettingsError, type Read, type Settings } from "../../runtime/settings";
import { listenForHealth, type ConnectionState } from "./health";
import { settingsHelp } from "./help";
import type { RoomState } from "./rooms";
import { readText, withSecretFiles, type SettingTable, type ValuesOf } from "./setting";

const EXIT_USAGE = 64; // EX_USAGE
/** Milliseconds within which a bridge that cannot continue must stop. */
const FAIL_WITHIN_MS = 5_000;

/** A bridge that runs until `close` is called. */
export interface RunningBridge {
  /** The state of each connection, by name, for `GET /health`. */
  states(): Readonly<Record<string, ConnectionState>>;
  /** The rooms of the bridge, for `GET /health`. */
  rooms?(): readonly RoomState[];
  /** Stops the bridge gracefully. The program exits within 10 seconds even if `close` takes longer. */
  close(): Promise<void>;
}

/** The functions and the signal that a program passes to its bridge. */
export interface Tools {
  readonly log: Logger;
  /** Aborted if the program is asked to stop while `start` is still running. */
  readonly stopping: AbortSignal;
  /** Stops the program with exit code 1, because the bridge cannot continue. Logs `problem`. */
  fail(problem: string): void;
}

export interface BridgeProgram<Table extends SettingTable> {
  /** The folder of `package.json`, from which the name, version and description of the program are read. */
  readonly packageFolder: string;
  /** The settings that only this bridge has. */
  readonly settings: Table;
  /** Reports invalid combinations of settings. */
  check?(values: ValuesOf<Table>, settings: Pick<Settings, "fault">): void;
  /**
   * Starts the bridge. Resolves before the bridge is connected, so a bridge can start while the service or the chat is
   * down.
   */
  start(settings: BridgeSettings & ValuesOf<Table>, tools: Tools): Promise<RunningBridge>;
}

/**
 * Runs a bridge as a program. Reads the command line and the settings, prints `--help` and `--version`, and listens for
 * health requests. Stops gracefully on SIGTERM and SIGINT. Exit codes: 64 for an unknown argument, 78 for invalid
 * settings, 1 for other faults.
 */
export async function runBridgeProgram<Table extends SettingTable>(
  program: BridgeProgram<Table>,
): Promise<void> {
  const { name, version, description } = readPackage(program.packageFolder);
  const table = { ...BRIDGE_SETTINGS, ...program.settings };
  const options = readArguments(name);
  if (options.version) return void process.stdout.write(`${name} ${version}\n`);
  if (options.help) return void process.stdout.write(`${helpPage(name, description, table)}\n`);

  await runProcess(async (stopping) => {
    const settings = readTable(program, environmentOf(options.config));
    const log = createLogger(name, settings.LOG_LEVEL);
    for (const line of settings.misspelled) log.warn(line);
    const lock = await lockState(settings.STATE_FOLDER);
    let bridge: RunningBridge | undefined;
    const fail = (problem: string): void => {
      log.fatal({ problem }, "the bridge cannot continue");
      const exit = (): never => process.exit(1);
      setTimeout(exit, FAIL_WITHIN_MS);
      Promise.resolve(bridge?.close()).then(exit, exit);
    };
    const running = await program.start(settings, { log, stopping, fail });
    bridge = running;
    const at = settings.HEALTH_LISTEN;
    const health =
      at &&
      (await listenForHealth(
        at,
        () => running.states(),
        () => running.rooms?.() ?? [],
      ));
    log.info({ version, ...(health && { healthPort: health.port }) }, `${name} is running`);
    const close = async (): Promise<void> => {
      await running.close();
      await health?.close();
      lock.release();
    };
    return { running: { close }, log };
  });
}

function readPackage(folder: string): { name: string; version: string; description: string } {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as ReturnType<typeof readPackage>;
}

function readArguments(name: string) {
  try {
    const options = {
      config: { type: "string" },
      help: { type: "boolean", short: "h" },
      version: { type: "boolean" },
    } as const;
    return parseArgs({ options, strict: true }).values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${name} --help lists the options.\n`);
    process.exit(EXIT_USAGE);
  }
}

/** Returns the environment variables, and the settings from the file. An environment variable overrides the file. */
function environmentOf(file: string | undefined): NodeJS.Dict<string> {
  if (file === undefined) return process.env;
  try {
    return { ...parseEnv(readText(file)), ...process.env };
  } catch (error) {
    const { code = "invalid" } = error as NodeJS.ErrnoException;
    throw new SettingsError([`--config names a file that cannot be read (${code}): give the path of a file`]);
  }
}

type Misspelled = Pick<Read<object>, "misspelled">;

/** Returns the values of all settings. Throws `SettingsError` with all faults. */
function readTable<Table extends SettingTable>(
  { settings: own, check }: BridgeProgram<Table>,
  environment: NodeJS.Dict<string>,
): BridgeSettings & ValuesOf<Table> & Misspelled {
  const table = { ...BRIDGE_SETTINGS, ...own };
  const unread: string[] = [];
  const complete = withSecretFiles(table, environment, (line) => unread.push(line));
  const values = readSettings(complete, (settings) => {
    for (const line of unread) settings.fault(line);
    const read = Object.entries(table).map(([name, setting]) => [name, setting.read(settings, name)]);
    return Object.fromEntries(read) as object;
  }) as BridgeSettings & ValuesOf<Table> & Misspelled;
  const faults: string[] = [];
  const settings = { fault: (line: string) => void faults.push(line) };
  checkBridgeSettings(values, settings);
  check?.(values, settings);
  if (faults.length > 0) throw new SettingsError(faults);
  return values;
}

/** Locks the state folder, so that only one process uses it. Throws `SettingsError` if that is not possible. */
async function lockState(folder: string): Promise<FolderLock> {
  try {
    return await lockFolder(folder);
  } catch (error) {
    if (!(error instanceof FolderInUse)) {
      throw new SettingsError([`STATE_FOLDER cannot be used: ${(error as Error).message}`]);
    }
    throw new SettingsError([
      `${holderOf(error.pid)} uses STATE_FOLDER ${error.folder}: stop it, or give this bridge its own STATE_FOLDER`,
    ]);
  }
}

function helpPage(name: string, description: string, table: SettingTable): string {
  return `${name}: ${description}

  ${name}                  run with the settings of the environment
  ${name} --config <file>  run with the settings of a file, one NAME=value in each line
  ${name} --help           print this page
  ${name} --version        print the version

A variable of the environment overrides the file. Settings:

${settingsHelp(table)}`;
}
