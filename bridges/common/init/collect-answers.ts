import { readSettings, SettingsError } from "../../../runtime/settings";
import type { Setting, SettingTable } from "../setting";
import type { Answers, Question } from "./bridge-init";
import type { Prompter } from "../../../runtime/prompter";

export interface Sources {
  /** The answers from flags and environment variables. The user is not asked for these. */
  readonly given: Answers;
  /** The answers from an existing file or from an earlier round. These are the defaults of the questions. */
  readonly earlier: Answers;
  /** Asks the user; undefined if the program cannot ask. */
  readonly prompter: Prompter | undefined;
  tell(line: string): void;
}

/**
 * Resolves to the answers to all questions. Without a prompter, throws a `SettingsError` that lists all missing and
 * invalid answers.
 */
export async function collectAnswers(
  questions: readonly Question[],
  table: SettingTable,
  sources: Sources,
): Promise<Answers> {
  const answers: Record<string, string> = {};
  const faults: string[] = [];
  const { given, earlier, prompter } = sources;
  const known = prompter === undefined ? { ...earlier, ...given } : given;
  for (const question of questions) {
    const { name } = question;
    const setting = table[name];
    if (setting === undefined || question.isNeeded?.({ ...known, ...answers }) === false) continue;
    const found = await answerTo(question, setting, answers, sources);
    if ("fault" in found) faults.push(found.fault);
    else if (found.value !== "") answers[found.name] = found.value;
  }
  if (faults.length > 0) throw new SettingsError(faults);
  return answers;
}

type Found = { readonly name: string; readonly value: string } | { readonly fault: string };

async function answerTo(
  question: Question,
  setting: Setting<unknown>,
  answers: Answers,
  { given, earlier, prompter, tell }: Sources,
): Promise<Found> {
  const { name } = question;
  const file = `${name}_FILE`;
  for (const known of prompter === undefined ? [given, earlier] : [given]) {
    if (setting.isSecret && known[file]) return { name: file, value: known[file] };
    if (known[name]) return resolved(question, setting, known[name]);
  }
  const standard = question.standard?.(answers) ?? setting.fallback ?? "";
  const isRequired = setting.fallback === undefined || question.isRequired === true;
  if (prompter === undefined) {
    if (standard === "" && isRequired) return { fault: missing(name, setting) };
    return resolved(question, setting, standard);
  }
  if (setting.isSecret && earlier[file]) return { name: file, value: earlier[file] };
  const shown = earlier[name] ?? standard;
  const hint =
    shown === "" ? (isRequired ? "" : " [none]") : setting.isSecret ? " [unchanged]" : ` [${shown}]`;
  for (;;) {
    const typed =
      (await prompter.ask(`${name}: ${question.what ?? setting.what}${hint}: `, setting.isSecret)).trim() ||
      shown;
    if (typed === "" && isRequired) {
      tell(`${name} is required`);
      continue;
    }
    const found = await resolved(question, setting, typed);
    if (!("fault" in found)) return found;
    tell(found.fault);
  }
}

/** Resolves to the text to store for an answer, or to the reason why the answer is invalid. */
async function resolved(question: Question, setting: Setting<unknown>, answer: string): Promise<Found> {
  const { name } = question;
  try {
    const value = answer === "" ? "" : ((await question.resolve?.(answer)) ?? answer);
    // An empty answer is valid, because the caller checks whether the setting is required.
    if (value !== "") readSettings({ [name]: value }, (settings) => ({ read: setting.read(settings, name) }));
    return { name, value };
  } catch (error) {
    if (error instanceof SettingsError) return { fault: error.faults.join("; ") };
    return { fault: `${name} ${(error as Error).message}` };
  }
}

function missing(name: string, { what, isSecret }: Setting<unknown>): string {
  const flag = flagOf(name);
  const ways = isSecret
    ? `${flag}-file <path>, or the variable ${name} or ${name}_FILE`
    : `${flag}, or the variable ${name}`;
  return `${name} is missing: ${what} (${ways})`;
}

/** Returns the flag for a setting, e.g. "--irc-host" for "IRC_HOST". */
export function flagOf(name: string): string {
  return `--${name.toLowerCase().replaceAll("_", "-")}`;
}
