import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { hasColour, type ColourEnvironment } from "../kit/terminal-colour";
import { rendered, type Line } from "./colour";
import { CliFailure } from "./failure";
import { EXIT } from "./exit-code";
import { printable, printableJson } from "./printable";

/** The standard streams of a command. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

export type Terminal = ReturnType<typeof createTerminal>;

/**
 * Escapes all output, so that untrusted text cannot control the terminal. `environment` can turn colour on or off: see
 * `hasColour`.
 */
export function createTerminal({ stdin, stdout, stderr }: Streams, environment: ColourEnvironment = {}) {
  const write = (stream: Streams["stdout"], lines: readonly Line[]): void => {
    const isColoured = hasColour(stream, environment);
    stream.write(lines.map((line) => `${rendered(line, isColoured)}\n`).join(""));
  };
  return {
    /** Prints lines of the command's result on stdout. */
    print: (...lines: readonly Line[]): void => write(stdout, lines),
    /** Prints a value on stdout as one line of JSON. */
    printJson: (value: unknown): void => void stdout.write(`${printableJson(value)}\n`),
    /** Prints errors and notes on stderr. */
    tell: (...lines: readonly Line[]): void => write(stderr, lines),
    /**
     * Asks for confirmation. Rejects with a `CliFailure` if stdin is not a terminal, or, with the message `declined`,
     * if the user declines.
     */
    async confirm(question: string, declined: string): Promise<void> {
      if (stdin.isTTY !== true) {
        throw new CliFailure(
          EXIT.USAGE,
          `cannot ask for confirmation, because stdin is not a terminal: confirm with --yes`,
        );
      }
      stderr.write(`${printable(question)} [y/N] `);
      const lines = createInterface({ input: stdin });
      const reply = await new Promise<string>((resolve) => {
        lines.once("line", resolve);
        // The end of the input counts as the answer "no".
        lines.once("close", () => resolve(""));
      });
      lines.close();
      if (!/^y(?:es)?$/i.test(reply.trim())) throw new CliFailure(EXIT.NO, declined);
    },
    /**
     * Calls `take` with each line of stdin. Returns a function that stops reading. Nothing happens at the end of the
     * input.
     */
    eachLine(take: (line: string) => void): () => void {
      const lines = createInterface({ input: stdin, terminal: false });
      lines.on("line", take);
      return () => {
        lines.off("line", take);
        lines.close();
        stdin.destroy();
      };
    },
    /** Reads a file, or stdin for "-". Rejects with a `CliFailure` when the file cannot be read. */
    async read(file: string): Promise<Buffer> {
      try {
        return await (file === "-" ? buffer(stdin) : readFile(file));
      } catch (error) {
        throw new CliFailure(EXIT.NOT_FOUND, `cannot read the file: ${(error as Error).message}`);
      }
    },
  };
}
