import { readFileSync } from "node:fs";
import type { Cli } from "./cli";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";

/** Reads a file, or stdin for "-". Rejects with a `CliFailure` when the file cannot be read. */
export async function readInput({ terminal }: Cli, file: string): Promise<Buffer> {
  if (file === "-") return terminal.read();
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CliFailure(EXIT.NOT_FOUND, `cannot read the file: ${(error as Error).message}`);
  }
}
