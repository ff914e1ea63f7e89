import { execFileSync } from "node:child_process";
import { cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const PROJECT = join(__dirname, "../../..");

/** Copies the template of the kit that is installed in `project`, and compiles the copy. Returns the copy's folder. */
export function buildTemplate(project: string): string {
  const folder = join(project, "my-bridge");
  cpSync(join(project, "node_modules/chat-bridge-kit/template"), folder, { recursive: true });
  symlinkSync(join(PROJECT, "node_modules/@types"), join(project, "node_modules/@types"));
  execFileSync(join(PROJECT, "node_modules/.bin/tsc"), ["-p", folder]);
  return folder;
}
