import type { SettingTable, ValuesOf } from "../setting";

/**
 * The answers so far: the texts of settings, by the settings' names. Instead of a secret, the answer `<NAME>_FILE` can
 * name a file with the secret.
 */
export type Answers = Readonly<Record<string, string>>;

/** A setting that `init` asks for. */
export interface Question {
  readonly name: string;
  /** The meaning of the setting, if the question must describe it in other words than `--help`. */
  readonly what?: string;
  /** Whether an empty answer is invalid although the setting itself is optional. */
  readonly isRequired?: boolean;
  /**
   * Returns whether the setting is needed. `answers` contains the answers so far, including those of flags and
   * variables. Without this function, the setting is always needed.
   */
  isNeeded?(answers: Answers): boolean;
  /** Returns the default of the question, if it differs from the default of the setting. */
  standard?(answers: Answers): string | undefined;
  /** Resolves to the text to store for an answer, e.g. the URL for a name. Rejects if the answer is unusable. */
  resolve?(answer: string): Promise<string>;
}

/** The result of one check. */
export interface Finding {
  /** "problem" if the finding would keep members from playing. */
  readonly is: "ok" | "note" | "problem";
  /** The fact, without secrets. */
  readonly text: string;
  /** What to do; each element is a line, e.g. a command. */
  readonly advice?: readonly string[];
}

/** A setting that follows from the answers. `init` adds it unless it is already set. */
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
