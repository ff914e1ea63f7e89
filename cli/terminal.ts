import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { CliFailure } from "./failure";
import { EXIT } from "./exit-code";
import { printable, printableJson } from "./printable";

/** What a command reads from and writes to. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Whatever is written here comes out as text: nothing in it can steer a terminal. */
export interface Terminal {
  /** Says lines on stdout: the result. */
  print(...lines: readonly string[]): void;
  /** Says lines of our own making as they are, tabs and all. */
  printOwn(lines: readonly string[]): void;
  /** Says a value on stdout, as one line of JSON. */
  printJson(value: unknown): void;
  /** Says lines on stderr: whatever is not the result. */
  tell(...lines: readonly string[]): void;
  /** Whether a person agrees. Fails where there is nobody to ask. */
  confirm(question: string, insteadOf: string): Promise<boolean>;
  /** All of stdin. */
  read(): Promise<Buffer>;
}

export function createTerminal({ stdin, stdout, stderr }: Streams): Terminal {
  const write = (stream: Writable, lines: readonly string[]): void => {
    const safe = lines.flatMap((line) => line.split("\n")).map(printable);
    stream.write(safe.map((line) => `${line}\n`).join(""));
  };
  return {
    print: (...lines) => write(stdout, lines),
    printOwn: (lines) => void stdout.write(lines.map((line) => `${line}\n`).join("")),
    printJson: (value) => void stdout.write(`${printableJson(value)}\n`),
    tell: (...lines) => write(stderr, lines),
    async confirm(question, insteadOf) {
      if (stdin.isTTY !== true) {
        throw new CliFailure(
          EXIT.USAGE,
          `there is nobody to ask whether this is meant: say ${insteadOf} if it is.`,
        );
      }
      stderr.write(`${printable(question)} [y/N] `);
      const lines = createInterface({ input: stdin });
      const reply = await new Promise<string>((resolve) => {
        lines.once("line", resolve);
        // The end of the input is no answer.
        lines.once("close", () => resolve(""));
      });
      lines.close();
      return reply.trim() === "y";
    },
    async read() {
      const chunks: Buffer[] = [];
      for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Buffer));
      return Buffer.concat(chunks);
    },
  };
}
