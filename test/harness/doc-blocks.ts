import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the fenced code blocks of one language. `page` is a path relative to the project's root. */
export function docBlocks(page: string, language: string): readonly string[] {
  const text = readFileSync(join(__dirname, "../..", page), "utf8");
  const fenced = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms");
  return [...text.matchAll(fenced)].map(([, block = ""]) => block);
}

/**
 * Returns the program whose first line is a comment that begins with `name` and a colon. Throws when the page has no
 * such program.
 */
export function docProgram(page: string, language: string, name: string): string {
  const found = docBlocks(page, language).find((block) => /^(?:#|\/\/) ([^:]+):/.exec(block)?.[1] === name);
  if (found === undefined)
    throw new Error(`${page} has no program whose first line is a comment "${name}: …"`);
  return found;
}
