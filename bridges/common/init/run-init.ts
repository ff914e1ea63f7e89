import { accessSync, constants } from "node:fs";
import { basename, dirname, join } from "node:path";
import { styleText } from "node:util";
import { SettingsError } from "../../../runtime/settings";
import { BRIDGE_SETTINGS } from "../bridge-settings";
import { readAll, readTable, type OwnSettings } from "../read-table";
import type { SettingTable } from "../setting";
import type { Answers, BridgeInit, Finding, Question } from "./bridge-init";
import { checkAddress, checkWorkspace } from "./check-workspace";
import { collectAnswers } from "./collect-answers";
import type { InitArguments } from "./init-arguments";
import { Prompter } from "../../../runtime/prompter";
import { findServiceCli, type ServiceCli } from "./service-cli";
import { readSettingsFile, writeSettingsFile } from "./settings-file";
import { startLine } from "./start-line";

const LOOKS = { ok: "green", note: "yellow", problem: "red" } as const;
const EXIT_DONE = 0;
const EXIT_PROBLEM = 1;
/** The default address of the service that `npm start` runs. */
const LOCAL_SERVICE = "http://127.0.0.1:8080";
const ADDRESS_QUESTION: Question = { name: "BASE_URL" };
const WORKSPACE_QUESTIONS: readonly Question[] = [
  ADDRESS_QUESTION,
  { name: "WORKSPACE_ID" },
  { name: "SIGNING_SECRET" },
];

export interface InitProgram<Table extends SettingTable> extends OwnSettings<Table> {
  readonly packageFolder: string;
  readonly init: BridgeInit<Table>;
}

/**
 * Sets up a bridge: asks for the settings, checks the chat, creates or checks the workspace, and writes the settings
 * file.
 */
export class Init<Table extends SettingTable> {
  readonly #program: InitProgram<Table>;
  readonly #name: string;
  readonly #options: InitArguments;
  readonly #table: SettingTable;
  readonly #prompter: Prompter | undefined;
  readonly #given: Answers;
  readonly #earlier: Answers;
  readonly #isNewFile: boolean;

  /** Throws `SettingsError` if the settings file cannot be read or written. */
  constructor(program: InitProgram<Table>, name: string, options: InitArguments) {
    this.#program = program;
    this.#name = name;
    this.#options = options;
    this.#table = { ...BRIDGE_SETTINGS, ...program.settings };
    const found = readSettingsFile(options.file);
    this.#isNewFile = found === undefined;
    this.#earlier = this.#known(found ?? {});
    this.#given = { ...this.#known(process.env), ...options.answers };
    checkWritable(dirname(options.file));
    this.#prompter = process.stdin.isTTY ? new Prompter(process.stdin, process.stdout) : undefined;
  }

  /**
   * Resolves to the exit code. Throws `SettingsError` if answers are missing or invalid, and `Interrupted` if the user
   * interrupts.
   */
  async run(): Promise<number> {
    try {
      if (!(await this.#mayWrite())) return EXIT_PROBLEM;
      const cli = await this.#cli();
      const [firstChat, firstWorkspace] = await this.#collectAll(cli);
      const chat = await this.#checked(firstChat, {
        title: "The chat",
        collect: (again) => this.#collectChat(again),
        check: (answers) => this.#checkChat(answers),
      });
      if (chat === undefined) return EXIT_PROBLEM;
      if (cli !== undefined) {
        const service = await this.#checked(firstWorkspace, {
          title: "The service",
          collect: (again) => this.#collectWorkspace([ADDRESS_QUESTION], again),
          check: async ({ BASE_URL: baseUrl = "" }) => this.#show(await checkAddress(baseUrl)),
        });
        return service === undefined ? EXIT_PROBLEM : await this.#finishWithNewWorkspace(cli, chat, service);
      }
      const workspace = await this.#checked(firstWorkspace, {
        title: "The workspace",
        collect: (again) => this.#collectWorkspace(WORKSPACE_QUESTIONS, again),
        check: async (answers) =>
          this.#show(await checkWorkspace(readAll(this.#program, this.#all(chat, answers)))),
      });
      if (workspace === undefined) return EXIT_PROBLEM;
      await this.#write(this.#all(chat, workspace));
      this.#sayStart("Start the bridge");
      return EXIT_DONE;
    } finally {
      this.#prompter?.close();
    }
  }

  /** Creates the workspace, and saves its secret at once, before a later step can fail. */
  async #finishWithNewWorkspace(cli: ServiceCli, chat: Answers, service: Answers): Promise<number> {
    say("\nThe workspace:");
    const name = this.#options.workspaceName ?? this.#name;
    const { id, secret } = await cli.createWorkspace(name);
    const answers = this.#all(chat, { ...service, WORKSPACE_ID: id, SIGNING_SECRET: secret });
    this.#show({ is: "ok", text: `created the workspace "${name}" (${id})` });
    await this.#write(answers);
    const isGood = this.#show(await checkWorkspace(readAll(this.#program, answers)));
    this.#sayStart(isGood ? "Start the bridge" : "After you have fixed the problem, start the bridge");
    return isGood ? EXIT_DONE : EXIT_PROBLEM;
  }

  async #mayWrite(): Promise<boolean> {
    const { file, replace } = this.#options;
    if (this.#isNewFile || replace) return true;
    if (this.#prompter === undefined) {
      throw new SettingsError([
        `${file} exists: add --replace to change it, or give another path with --file`,
      ]);
    }
    return this.#prompter.confirm(`${file} exists. Replace it? Its settings become the defaults.`, false);
  }

  /**
   * Resolves to the command that creates the workspace; undefined if the user must enter the values of an existing
   * workspace.
   */
  async #cli(): Promise<ServiceCli | undefined> {
    const has = (name: string): boolean =>
      [this.#given, this.#earlier].some(
        (each) => each[name] !== undefined || each[`${name}_FILE`] !== undefined,
      );
    if (has("WORKSPACE_ID") || has("SIGNING_SECRET")) return undefined;
    const root = join(this.#program.packageFolder, "../..");
    const cli = await findServiceCli(root, process.env, say);
    if (cli === undefined || this.#prompter === undefined) return cli;
    const isWanted = await this.#prompter.confirm(
      `Create a new workspace on the service at ${cli.core}?`,
      true,
    );
    return isWanted ? cli : undefined;
  }

  /** Resolves to the answers about the chat and the workspace. Throws `SettingsError` with all faults. */
  async #collectAll(cli: ServiceCli | undefined): Promise<readonly [Answers, Answers]> {
    const faults: string[] = [];
    const collected = async (collecting: Promise<Answers>): Promise<Answers> => {
      try {
        return await collecting;
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        faults.push(...error.faults);
        return {};
      }
    };
    const workspace = await collected(
      cli === undefined ? this.#collectWorkspace(WORKSPACE_QUESTIONS) : this.#collectAddress(cli),
    );
    const chat = await collected(this.#collectChat());
    if (faults.length > 0) throw new SettingsError(faults);
    return [chat, workspace];
  }

  /** @param again the answers of an earlier round, for which the user is asked again */
  #collectChat(again?: Answers): Promise<Answers> {
    return this.#collect(this.#program.init.questions, again);
  }

  /** Asks for the address of the service in which to create a workspace, unless the address is known. */
  #collectAddress({ baseUrl }: ServiceCli): Promise<Answers> {
    const isGiven = [this.#given, this.#earlier].some(({ BASE_URL: url }) => url !== undefined);
    if (baseUrl !== undefined && !isGiven) return Promise.resolve({ BASE_URL: baseUrl });
    // Without a terminal, nobody would notice if this default belonged to another service.
    const standard = () => (this.#prompter === undefined ? undefined : LOCAL_SERVICE);
    return this.#collectWorkspace([{ ...ADDRESS_QUESTION, standard }]);
  }

  #collectWorkspace(questions: readonly Question[], again?: Answers): Promise<Answers> {
    return this.#collect(questions, again);
  }

  #collect(questions: readonly Question[], again: Answers | undefined): Promise<Answers> {
    return collectAnswers(questions, this.#table, {
      given: again === undefined ? this.#given : {},
      earlier: again ?? this.#earlier,
      prompter: this.#prompter,
      tell: say,
    });
  }

  /**
   * Resolves to the answers when the check finds no problem or the problem is ignored; undefined if the user cancels.
   */
  async #checked(
    first: Answers,
    {
      title,
      collect,
      check,
    }: {
      readonly title: string;
      collect(again: Answers): Promise<Answers>;
      check(answers: Answers): Promise<boolean>;
    },
  ): Promise<Answers | undefined> {
    for (let answers = first; ; answers = await collect(answers)) {
      say(`\n${title}:`);
      if (await check(answers)) return answers;
      if (await this.#prompter?.confirm("\nChange the answers and check again?", true)) continue;
      const isForced =
        this.#options.ignoreProblems || (await this.#prompter?.confirm("Continue anyway?", false));
      if (isForced === true) return answers;
      say("\nNothing was written.");
      return undefined;
    }
  }

  async #checkChat(answers: Answers): Promise<boolean> {
    const { settings, init } = this.#program;
    const values = readTable(this.#program, this.#all(answers, {}, settings));
    let isGood = true;
    for await (const finding of init.check(values)) isGood = this.#show(finding) && isGood;
    return isGood;
  }

  /** Returns the settings to write: the answers, and those given or earlier settings for which there is no question. */
  #all(chat: Answers, workspace: Answers, table = this.#table): Answers {
    const asked = [...this.#program.init.questions, ...WORKSPACE_QUESTIONS].map(({ name }) => name);
    const others = Object.entries({ ...this.#earlier, ...this.#given }).filter(([name]) => {
      const setting = name.replace(/_FILE$/, "");
      return !asked.includes(name) && !asked.includes(setting) && (name in table || setting in table);
    });
    const state = join(dirname(this.#options.file), `${this.#name}-state`);
    const standard = "STATE_FOLDER" in table ? { STATE_FOLDER: state } : {};
    return { ...workspace, ...standard, ...Object.fromEntries(others), ...chat };
  }

  #known(variables: NodeJS.Dict<string>): Answers {
    const known = Object.entries(this.#table).flatMap(([name, { isSecret }]) => [
      name,
      ...(isSecret ? [`${name}_FILE`] : []),
    ]);
    return Object.fromEntries(
      known.flatMap((name) => (variables[name] ? [[name, variables[name]] as const] : [])),
    );
  }

  async #write(answers: Answers): Promise<void> {
    const { file } = this.#options;
    const additions = this.#program.init.additions?.(answers) ?? [];
    const added = additions.filter(({ name }) => answers[name] === undefined);
    for (const { name, value, why } of added) {
      this.#show({ is: "note", text: `added ${name}=${value}, so that ${why}` });
    }
    const all = { ...answers, ...Object.fromEntries(added.map(({ name, value }) => [name, value])) };
    await writeSettingsFile(file, `# Settings of ${this.#name}, written by init`, all);
  }

  /** Prints a finding. Returns false for a problem. */
  #show({ is, text, advice = [] }: Finding): boolean {
    // `styleText` adds colour only on a terminal, and respects NO_COLOR and FORCE_COLOR.
    say(`  ${styleText(LOOKS[is], is, { stream: process.stdout })}${"".padEnd(7 - is.length)}  ${text}`);
    for (const line of advice) say(`           ${line}`);
    return is !== "problem";
  }

  #sayStart(words: string): void {
    const { file } = this.#options;
    say(`\nWrote ${file}. Only you can read this file.\n\n${words}:\n\n  ${startLine(this.#name, file)}`);
  }
}

/** The name of the settings file that `init` writes by default, e.g. "irc.env" for "chat-bridge-irc". */
export function standardFile(program: string): string {
  return `${basename(program).replace(/^chat-bridge-/, "")}.env`;
}

function checkWritable(folder: string): void {
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SettingsError([`--file: the folder ${folder} is not writable (${code}): give another path`]);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
