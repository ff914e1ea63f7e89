/** The stream to which progress is printed, such as stdout. */
export interface ProgressOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const COLUMNS_BY_DEFAULT = 80;
const TICK_MS = 1_000;
/** Escape sequence that moves the cursor to the start of the line, and clears the line. */
const CLEAR_LINE = "\r\u001b[K";

/**
 * Prints the steps of a start or a stop. On a terminal, all steps share one line, which shows how long the current step
 * takes. Otherwise, each step is printed on its own line.
 */
export class Progress {
  readonly #output: ProgressOutput;
  /** The step that the terminal's last line shows; undefined if it shows no step. */
  #shown: { readonly text: string; readonly since: number; readonly timer: NodeJS.Timeout } | undefined;

  constructor(output: ProgressOutput) {
    this.#output = output;
  }

  /** Prints a step, in place of the previous step. */
  step(text: string): void {
    this.clear();
    if (this.#output.isTTY !== true) return this.note(text);
    const timer = setInterval(() => this.#show(), TICK_MS).unref();
    this.#shown = { text, since: performance.now(), timer };
    this.#show();
  }

  /** Prints a line that stays. */
  note(text: string): void {
    this.clear();
    this.#output.write(`· ${text}\n`);
  }

  /** Removes the line of the current step, so that other text can be printed. */
  clear(): void {
    if (this.#shown === undefined) return;
    clearInterval(this.#shown.timer);
    this.#shown = undefined;
    this.#output.write(CLEAR_LINE);
  }

  #show(): void {
    if (this.#shown === undefined) return;
    const { text, since } = this.#shown;
    const seconds = Math.floor((performance.now() - since) / 1_000);
    const line = `· ${text}${seconds === 0 ? "" : ` … ${seconds} s`}`;
    // A wrapped line cannot be cleared, so the text is cut to the terminal's width.
    const width = (this.#output.columns ?? COLUMNS_BY_DEFAULT) - 1;
    this.#output.write(CLEAR_LINE + line.slice(0, width));
  }
}
