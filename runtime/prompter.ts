import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";

/** Thrown when the user ends the input, e.g. with Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

export const EXIT_INTERRUPTED = 130;
/** Maximum number of lines to keep that the user types or pastes before a question. */
const LINES_MAX = 100;

/** Asks the user questions on a terminal. */
export class Prompter {
  readonly #lines: string[] = [];
  readonly #terminal: Interface;
  readonly #stdout: Writable;
  #waiting: { resolve(line: string): void; reject(error: Error): void } | undefined;
  #isHidden = false;
  #isClosed = false;

  constructor(stdin: NodeJS.ReadStream, stdout: Writable) {
    this.#stdout = stdout;
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!this.#isHidden) stdout.write(chunk);
        done();
      },
    });
    // Without a history, the arrow keys do not show a typed secret again.
    this.#terminal = createInterface({ input: stdin, output, terminal: true, historySize: 0 });
    this.#terminal
      .on("line", (line) => this.#take(line))
      .on("SIGINT", () => {
        // Between two questions, e.g. during a check, there is no pending call of `ask` to reject.
        if (this.#waiting === undefined) process.exit(EXIT_INTERRUPTED);
        this.#terminal.close();
      })
      .on("close", () => {
        this.#isClosed = true;
        this.#waiting?.reject(new Interrupted("interrupted"));
      });
  }

  /** Resolves to the typed line. If `isHidden` is true, the line is not shown. Rejects with `Interrupted`. */
  async ask(question: string, isHidden = false): Promise<string> {
    if (this.#isClosed) throw new Interrupted("interrupted");
    this.#terminal.setPrompt(question);
    this.#terminal.prompt();
    this.#isHidden = isHidden;
    try {
      return await new Promise<string>((resolve, reject) => {
        this.#waiting = { resolve, reject };
        const line = this.#lines.shift();
        if (line !== undefined) this.#take(line);
      });
    } finally {
      this.#isHidden = false;
      if (isHidden) this.#stdout.write("\n");
    }
  }

  /**
   * Resolves to whether the user agrees. An empty line means `standard`. Any line other than yes or no repeats the
   * question.
   */
  async confirm(question: string, standard: boolean): Promise<boolean> {
    for (;;) {
      const answer = (await this.ask(`${question} [${standard ? "Y/n" : "y/N"}] `)).trim().toLowerCase();
      if (answer === "") return standard;
      if (/^(y|yes|n|no)$/.test(answer)) return answer.startsWith("y");
      this.#stdout.write("type y for yes, or n for no\n");
    }
  }

  close(): void {
    this.#terminal.close();
  }

  #take(line: string): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) waiting.resolve(line);
    else if (this.#lines.length < LINES_MAX) this.#lines.push(line);
  }
}
