import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The fenced blocks of a language in a page, its path from the root of the project. */
export function docBlocks(page: string, language: string): readonly string[] {
  const text = readFileSync(join(__dirname, "../..", page), "utf8");
  const fenced = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms");
  return [...text.matchAll(fenced)].map(([, block = ""]) => block);
}

/** The program of a page that names itself in its first line. */
export function docProgram(page: string, language: string, name: string): string {
  const found = docBlocks(page, language).find((block) => /^(?:#|\/\/) ([^:]+):/.exec(block)?.[1] === name);
  if (found === undefined) throw new Error(`${page} has no ${name}`);
  return found;
}
