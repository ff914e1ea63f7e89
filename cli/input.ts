import { readFileSync } from "node:fs";
import type { Cli } from "./cli";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";

/** The bytes of a file, or of stdin for "-". */
export async function readInput({ terminal }: Cli, file: string): Promise<Buffer> {
  if (file === "-") return terminal.read();
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CliFailure(EXIT.NOT_FOUND, `the file cannot be read (${(error as Error).message}).`);
  }
}
