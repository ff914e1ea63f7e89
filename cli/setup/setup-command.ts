import { isAbsolute, resolve } from "node:path";
import { Interrupted, Prompter } from "../../runtime/prompter";
import { answer, type Cli, type CliCommand } from "../cli";
import { EXIT } from "../exit-code";
import { CliFailure } from "../failure";
import { KnownFiles } from "./known-files";
import { DEBIAN, machineFaults, thisPlace } from "./machine";
import { nextSteps } from "./next-steps";
import { PATHS } from "./paths";
import { plannedFiles } from "./planned-files";
import { collectAnswers, InvalidAnswers, Questions, type AnswerOptions } from "./questions";
import { setOwners } from "./owners";
import { collectSecrets } from "./secrets";
import { stepsTo, writeFiles, type Step } from "./write-files";

interface SetupOptions extends AnswerOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly root?: string;
  readonly replaceUnits?: boolean;
}

/** `chat-bridge setup` writes the files that the service needs on one machine with systemd. */
export function addSetup(program: CliCommand, cli: Cli): void {
  program
    .command("setup")
    .description("write the settings, secrets and systemd units of a service on one machine")
    .option("--hooks <host>", "host name at which bridges reach the service")
    .option("--dashboard <host>", "host name of the dashboard (dashboard.<domain>)")
    .option("--proxy <proxy>", "caddy, nginx or none (the installed one)")
    .option("--certificates <from>", "letsencrypt, internal, or <chain.pem>,<key.pem> (letsencrypt)")
    .option("--smtp-url-file <file>", "file with the URL of the mail server (none: core logs emails)")
    .option("--mail-from <address>", "sender of emails")
    .option("--redis-memory <size>", "memory for the data of Redis, e.g. 512mb (a quarter of the machine's)")
    .option("--redis-port <port>", "port of Redis on 127.0.0.1 (6379)")
    .option("--games <names>", "games that get a token, separated by commas")
    .option("--yes", "ask nothing, and use the defaults for the other answers")
    .option("--replace-units", "replace units and proxy settings that differ from this release")
    .option(
      "--root <folder>",
      "write to this folder instead of /, e.g. for an image; skips the checks of the machine",
    )
    .option("--dry-run", "show what would be written, and write nothing")
    .moreHelp(`
Run setup as root. It can run again, e.g. after an upgrade or to add a game: it never changes an existing secret or
setting, adds what is missing, and shows how units differ from this release. The URL of the mail server can also be in
the variable SMTP_URL.

Examples:
  $ sudo chat-bridge setup
  $ sudo chat-bridge setup --hooks hooks.example.com --dashboard games.example.com --games trivia,chess --yes
  $ sudo chat-bridge setup --games chess --yes    # later: adds a game
  $ chat-bridge setup --hooks hooks.example.com --root ./image --yes`)
    .action((options: SetupOptions) => setUp(cli, options));
}

async function setUp(cli: Cli, options: SetupOptions): Promise<void> {
  const root = resolve(options.root ?? "/");
  if (options.root !== undefined && !isAbsolute(root))
    throw new CliFailure(EXIT.USAGE, "--root is not a folder");
  const prompter = choosePrompter(options);
  try {
    await run(cli, options, new KnownFiles(root), prompter);
  } catch (error) {
    if (error instanceof Interrupted)
      throw new CliFailure(EXIT.INTERRUPTED, "interrupted; nothing was written");
    if (error instanceof InvalidAnswers)
      throw faultsFailure("these answers are missing or invalid", error.faults);
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || error instanceof CliFailure) throw error;
    throw new CliFailure(EXIT.CANNOT_WRITE, `cannot read or write the files: ${(error as Error).message}`);
  } finally {
    prompter?.close();
  }
}

function choosePrompter({ yes, dryRun }: SetupOptions): Prompter | undefined {
  if (yes === true) return undefined;
  if (process.stdin.isTTY) return new Prompter(process.stdin, process.stderr);
  if (dryRun === true) return undefined;
  throw new CliFailure(
    EXIT.USAGE,
    "cannot ask, because stdin is not a terminal: give the answers as options, and --yes",
  );
}

async function run(cli: Cli, options: SetupOptions, files: KnownFiles, prompter: Prompter | undefined) {
  const isHere = options.root === undefined;
  const questions = new Questions(prompter, (line) => cli.terminal.tell(line));
  const answers = await collectAnswers(options, files, questions);
  if (isHere) {
    const faults = await machineFaults(answers, files.read(PATHS.coreEnv) === undefined);
    if (faults.length > 0) throw faultsFailure("this machine is not ready, so nothing was written", faults);
  }
  const secrets = collectSecrets(answers, files);
  const planned = plannedFiles(answers, secrets, files, isHere ? thisPlace() : DEBIAN);
  const steps = await chosen(stepsTo(planned, files), options, prompter);
  if (options.dryRun === true) {
    answer(cli, { written: false, files: steps.map(summary) }, [
      "Nothing is written. setup would:",
      ...linesOf(steps),
    ]);
    return;
  }
  await writeFiles(steps, files);
  const notes = setOwners(files);
  answer(cli, { written: true, files: steps.map(summary), notes }, [
    ...linesOf(steps),
    ...notes,
    ...nextSteps(answers, steps),
  ]);
}

/** Resolves to the steps, without the replacements that the user declines. */
async function chosen(
  steps: readonly Step[],
  { replaceUnits, dryRun }: SetupOptions,
  prompter: Prompter | undefined,
): Promise<readonly Step[]> {
  const all: Step[] = [];
  for (const step of steps) {
    if (step.does !== "replace" || replaceUnits === true || dryRun === true) {
      all.push(step);
      continue;
    }
    const question = `\n${step.diff}\n\nReplace ${step.path}?`;
    const isWanted = (await prompter?.confirm(question, true)) ?? false;
    all.push(isWanted ? step : { ...step, does: "differ" });
  }
  return all;
}

const summary = ({ path, does }: Step) => ({ path, does });

/** Returns a line for each file, and the diffs of changed files. Lines never contain secrets. */
function linesOf(steps: readonly Step[]): readonly string[] {
  return steps.flatMap((step) => {
    switch (step.does) {
      case "create":
        return [`create   ${step.path}`];
      case "keep":
        return [`keep     ${step.path}`];
      case "extend":
        return [`extend   ${step.path}: ${step.added.join(", ")}`];
      case "replace":
        return [`replace  ${step.path}`, ...step.diff.split("\n").map((line) => `  ${line}`)];
      case "differ":
        return [
          `keep     ${step.path}, which differs from this release (replace it with --replace-units):`,
          ...step.diff.split("\n").map((line) => `  ${line}`),
        ];
    }
  });
}

function faultsFailure(title: string, faults: readonly string[]): CliFailure {
  return new CliFailure(EXIT.SETTINGS, [`${title}:`, ...faults.map((fault) => `  - ${fault}`)].join("\n"));
}
