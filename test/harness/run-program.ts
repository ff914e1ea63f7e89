import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** Runs a program from dist with only these `settings`, and waits until the program exits. */
export async function runProgram(
  name: string,
  settings: Readonly<Record<string, string>>,
  args: readonly string[] = [],
) {
  const main = join(__dirname, "../../dist", name, "main.js");
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env["PATH"], ...settings } });
  const [[code], stdout, stderr] = await Promise.all([
    once(child, "close"),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code: code as number | null, stdout, stderr };
}
