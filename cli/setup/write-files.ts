import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { dirname } from "node:path";
import { createDurably, replaceDurably } from "../../kit/durable-file";
import type { KnownFiles } from "./known-files";
import { PATHS } from "./paths";
import type { PlannedFile } from "./planned-files";

/** A planned file, and what `setup` does with it. */
export type Step = PlannedFile & { readonly next: string } & (
    | { readonly does: "create" | "keep" }
    | { readonly does: "extend"; readonly added: readonly string[] }
    /** `diff` compares the existing file with the planned file. "differ" keeps the existing file. */
    | { readonly does: "replace" | "differ"; readonly diff: string }
  );

/**
 * Returns the steps that turn the existing files into the planned files. `next` is the text of the file after the step.
 */
export function stepsTo(planned: readonly PlannedFile[], files: KnownFiles): readonly Step[] {
  return planned.map((file): Step => {
    const found = files.read(file.path);
    if (found === undefined) return { ...file, does: "create", next: file.text };
    if (file.existing === "extended") return extension(file, found);
    if (found === file.text || file.existing === "kept") return { ...file, does: "keep", next: found };
    const diff = compare(files.locate(file.path), file.text, file.path);
    return { ...file, does: "replace", diff, next: file.text };
  });
}

/** Adds the lines whose names are not yet in the file. The name is the text before "=". */
function extension(file: PlannedFile, found: string): Step {
  const names = new Set(found.split("\n").map(nameOf));
  const added = file.text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#") && !names.has(nameOf(line)));
  if (added.length === 0) return { ...file, does: "keep", next: found };
  const next = `${found.replace(/\n*$/, "\n")}${added.join("\n")}\n`;
  return { ...file, does: "extend", added: added.map(nameOf), next };
}

const nameOf = (line: string): string => line.slice(0, Math.max(0, line.indexOf("="))).trim();

/** Returns a unified diff. */
function compare(existing: string, text: string, path: string): string {
  const labels = ["--label", path, "--label", `${path} (this release)`];
  const { stdout, error } = spawnSync("diff", ["-u", ...labels, existing, "-"], {
    input: text,
    encoding: "utf8",
  });
  return error === undefined ? stdout.trimEnd() : `${path} differs (install diff to see the lines)`;
}

/** The mode of a secret file until systemd-tmpfiles sets its owner and final mode. */
const OWNER_ONLY = 0o600;
const ALL_READ = 0o644;
const FOLDER_OWNER_ONLY = 0o700;
const FOLDER_ALL_READ = 0o755;

/** Writes files. At no time can another user read a secret. */
export async function writeFiles(steps: readonly Step[], files: KnownFiles): Promise<void> {
  for (const { path, does, next } of steps) {
    if (does === "keep" || does === "differ") continue;
    const located = files.locate(path);
    const isPrivate = path.startsWith(PATHS.settings) || path.startsWith("/var/");
    mkdirSync(dirname(dirname(located)), { recursive: true, mode: FOLDER_ALL_READ });
    mkdirSync(dirname(located), { recursive: true, mode: isPrivate ? FOLDER_OWNER_ONLY : FOLDER_ALL_READ });
    // The user of Redis owns the folder of the ACL file, so root must not follow a link in this folder. `chmod` would.
    if (path === PATHS.redisUsers) {
      await createDurably(located, next);
    } else {
      await replaceDurably(located, next);
      await chmod(located, isPrivate ? OWNER_ONLY : ALL_READ);
    }
  }
}
