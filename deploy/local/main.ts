import { parseArgs } from "node:util";
import { SettingsError } from "../../runtime/settings";
import { VERSION_TEXT } from "../../runtime/version";
import { HELP } from "./help";
import { hasColour } from "../../kit/terminal-colour";
import { runService } from "./service";
import { runningCommands } from "./show-commands";
import { StartFault } from "./start-fault";
import { CHAT_NAMES, readStartSettings, type ChatName } from "./start-settings";
import { whatNext } from "./what-next";

const EXIT_FAULT = 1;
const EXIT_USAGE = 64; // EX_USAGE
const EXIT_BAD_SETTINGS = 78; // EX_CONFIG
const PARENT_CHECK_EVERY_MS = 250;

/** A reason to stop that is not an error: a signal, or the exit of npm. */
class Asked extends Error {}

async function main(args: readonly string[]): Promise<number> {
  let options;
  try {
    options = readOptions(args);
  } catch (error) {
    console.error(`${(error as Error).message}\nnpm start -- --help lists the options.`);
    return EXIT_USAGE;
  }
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  if (options.version) {
    console.log(VERSION_TEXT);
    return 0;
  }
  if (process.platform === "win32") {
    console.error("npm start runs on Linux and macOS. On Windows, use WSL.");
    return EXIT_FAULT;
  }
  const over = new AbortController();
  stopWhenAsked(over);
  try {
    const settings = readStartSettings(process.env, options.chats);
    for (const line of settings.misspelled) console.error(line);
    if (options.commands) {
      console.log(await runningCommands(settings.dataDir));
      return 0;
    }
    const look = { dataDir: process.env["DATA_DIR"], hasColour: hasColour(process.stdout, process.env) };
    await runService(settings, over, ({ running, signIn }) => whatNext(running, { ...look, signIn }));
  } catch (error) {
    over.abort(error);
  }
  return over.signal.reason instanceof Asked ? 0 : explain(over.signal.reason);
}

interface Options {
  readonly help: boolean;
  readonly version: boolean;
  readonly commands: boolean;
  readonly chats: readonly ChatName[];
}

/** Reads the command line. Throws an Error whose message can be shown to the user. */
function readOptions(args: readonly string[]): Options {
  const options = {
    help: { type: "boolean", short: "h" },
    version: { type: "boolean" },
    commands: { type: "boolean" },
    with: { type: "string", multiple: true },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  const named = values.with ?? [];
  const unknown = named.find((name) => !CHAT_NAMES.some((chat) => chat === name));
  if (unknown !== undefined)
    throw new Error(
      `Unknown chat ${unknown} after --with: use ${new Intl.ListFormat("en", { type: "disjunction" }).format(CHAT_NAMES)}`,
    );
  const chats = CHAT_NAMES.filter((chat) => named.includes(chat));
  const { help = false, version = false, commands = false } = values;
  return { help, version, commands, chats };
}

/** Aborts `over` on a signal, and when the parent process npm exits, because npm does not forward every signal. */
function stopWhenAsked(over: AbortController): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => over.abort(new Asked(signal)));
  }
  if (process.env["npm_lifecycle_event"] === undefined) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) over.abort(new Asked("npm has exited"));
  }, PARENT_CHECK_EVERY_MS).unref();
}

function explain(reason: unknown): number {
  if (reason instanceof StartFault || reason instanceof SettingsError) console.error(reason.message);
  else
    console.error(`Internal error of npm start: ${reason instanceof Error ? reason.stack : String(reason)}`);
  const isOfSetting = reason instanceof SettingsError || (reason instanceof StartFault && reason.isOfSetting);
  return isOfSetting ? EXIT_BAD_SETTINGS : EXIT_FAULT;
}

// Writes fail after the reader has closed the pipe. Such errors are ignored, so that the shutdown still completes.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
void main(process.argv.slice(2)).then((code) => process.exit(code));
