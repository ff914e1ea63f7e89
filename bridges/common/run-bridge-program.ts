import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FolderInUse, holderOf, lockFolder, type FolderLock } from "chat-bridge-kit/folder-lock";
import type { Logger } from "pino";
import { BRIDGE_SETTINGS, type BridgeSettings } from "./bridge-settings";
import { createLogger } from "../../runtime/logger";
import { runProcess } from "../../runtime/run-process";
import { SettingsError } from "../../runtime/settings";
import { listenForHealth, type ConnectionState } from "./health";
import { settingsHelp } from "./help";
import type { BridgeInit } from "./init/bridge-init";
import { readInitArguments } from "./init/init-arguments";
import { initHelp } from "./init/init-help";
import { EXIT_INTERRUPTED, Interrupted } from "../../runtime/prompter";
import { Init, standardFile, type InitProgram } from "./init/run-init";
import { environmentOf, readAll, type OwnSettings } from "./read-table";
import type { RoomState } from "./rooms";
import type { SettingTable, ValuesOf } from "./setting";

const EXIT_FAULT = 1;
const EXIT_USAGE = 64; // EX_USAGE
const EXIT_BAD_SETTINGS = 78; // EX_CONFIG
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
  /** Name and version of the program. */
  readonly program: string;
  /** Aborted if the program is asked to stop while `start` is still running. */
  readonly stopping: AbortSignal;
  /** Stops the program with exit code 1, because the bridge cannot continue. Logs `problem`. */
  fail(problem: string): void;
}

export interface BridgeProgram<Table extends SettingTable> extends OwnSettings<Table> {
  /** The folder of `package.json`, from which the name, version and description of the program are read. */
  readonly packageFolder: string;
  /** The questions and the check of the command `init`; undefined if the bridge has no command `init`. */
  readonly init?: BridgeInit<Table>;
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
  const [command, ...more] = process.argv.slice(2);
  const { init } = program;
  if (command === "init" && init !== undefined) return initialize({ ...program, init }, name, more);
  const options = readArguments(name);
  if (options.version) return void process.stdout.write(`${name} ${version}\n`);
  if (options.help) return void process.stdout.write(`${helpPage(name, description, table)}\n`);

  await runProcess(async (stopping) => {
    const settings = readAll(program, environmentOf(options.config));
    const log = createLogger(name, settings.LOG_LEVEL);
    for (const line of settings.misspelled) log.warn(line);
    const lock = await lockState(settings.STATE_FOLDER);
    let bridge: RunningBridge | undefined;
    const fail = (problem: string): void => {
      log.fatal({ problem }, "the bridge cannot continue");
      const exit = (): never => process.exit(EXIT_FAULT);
      setTimeout(exit, FAIL_WITHIN_MS);
      Promise.resolve(bridge?.close()).then(exit, exit);
    };
    const running = await program.start(settings, { log, program: `${name} ${version}`, stopping, fail });
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
    const { values, positionals } = parseArgs({ options, strict: true, allowPositionals: true });
    const [unknown] = positionals;
    if (unknown !== undefined) throw new Error(`unknown command ${unknown}: the only command is init`);
    return values;
  } catch (error) {
    return endUsage(name, error);
  }
}

function endUsage(name: string, error: unknown): never {
  process.stderr.write(`${(error as Error).message}\n${name} --help lists the options.\n`);
  process.exit(EXIT_USAGE);
}

/** Runs the command `init`, and exits. */
async function initialize<Table extends SettingTable>(
  program: InitProgram<Table>,
  name: string,
  args: readonly string[],
): Promise<void> {
  const file = standardFile(name);
  let options;
  try {
    options = readInitArguments(args, { ...BRIDGE_SETTINGS, ...program.settings }, file);
  } catch (error) {
    return endUsage(`${name} init`, error);
  }
  if (options.help) return void process.stdout.write(`${initHelp(name, file)}\n`);
  try {
    process.exit(await new Init(program, name, options).run());
  } catch (error) {
    if (error instanceof Interrupted) process.exit(EXIT_INTERRUPTED);
    const isOfSettings = error instanceof SettingsError;
    const message = isOfSettings
      ? `${process.stdin.isTTY ? "" : "init cannot ask, because stdin is not a terminal; "}these answers are missing or invalid:\n${error.faults.map((fault) => `  - ${fault}`).join("\n")}`
      : `init failed: ${(error as Error).message}`;
    process.stderr.write(`${message}\n`);
    process.exit(isOfSettings ? EXIT_BAD_SETTINGS : EXIT_FAULT);
  }
}

/**
 * Locks the state folder, so that only one process uses the folder. Throws `SettingsError` if the folder cannot be
 * locked.
 */
async function lockState(folder: string): Promise<FolderLock> {
  try {
    return await lockFolder(folder);
  } catch (error) {
    if (!(error instanceof FolderInUse)) {
      throw new SettingsError([`STATE_FOLDER cannot be used: ${(error as Error).message}`]);
    }
    const text =
      `${holderOf(error.pid)} uses STATE_FOLDER ${error.folder}: ` +
      "stop it; a bridge for another workspace needs its own STATE_FOLDER";
    // The settings may be valid, so the message must not call them invalid.
    throw Object.assign(new SettingsError([text]), { message: `cannot start: ${text}` });
  }
}

function helpPage(name: string, description: string, table: SettingTable): string {
  return `${name}: ${description}

  ${name} init             set up the bridge: ask for the settings, check them, and write them to a file
  ${name}                  run with the settings of environment variables
  ${name} --config <file>  run with the settings of a file, one NAME=value in each line
  ${name} --help           print this page
  ${name} --version        print the version

An environment variable overrides the file. Settings:

${settingsHelp(table)}`;
}
