import type { SettingTable, ValuesOf } from "../setting";

/** The answers so far: the texts of settings by name. A secret can be in a file that `<NAME>_FILE` names. */
export type Answers = Readonly<Record<string, string>>;

/** A setting that `init` asks for. */
export interface Question {
  readonly name: string;
  /** The meaning of the setting, if the question needs other words than `--help`. */
  readonly what?: string;
  /** Whether an empty answer is invalid although the setting itself is optional. */
  readonly isRequired?: boolean;
  /**
   * Returns whether the setting is needed, from the answers so far and those of flags and variables. The default is
   * always true.
   */
  isNeeded?(answers: Answers): boolean;
  /** Returns the default of the question, if it differs from the default of the setting. */
  standard?(answers: Answers): string | undefined;
  /** Resolves to the text that is stored for an answer, e.g. a URL for a name. Rejects if the answer is unusable. */
  resolve?(answer: string): Promise<string>;
}

/** The result of one check. */
export interface Finding {
  /** "problem" if members could not play. */
  readonly is: "ok" | "note" | "problem";
  /** The fact, without secrets. */
  readonly text: string;
  /** What to do; each element is a line, e.g. a command. */
  readonly advice?: readonly string[];
}

/** A setting that follows from the answers, and that `init` adds unless it is set. */
export interface Addition {
  readonly name: string;
  readonly value: string;
  /** The reason, as the end of a sentence that begins with "so that". */
  readonly why: string;
}

/** The parts of `init` that differ between bridges. */
export interface BridgeInit<Table extends SettingTable> {
  readonly questions: readonly Question[];
  /** Checks the connection to the chat, the login and the rights of the account. Yields each finding. Never throws. */
  check(settings: ValuesOf<Table>): AsyncIterable<Finding>;
  /** Returns the settings to add to the answers about the chat and the workspace. */
  additions?(answers: Answers): readonly Addition[];
}
