import type { SettingTable } from "./setting";

const WIDTH = 110;

/** Returns the lines of `--help` that list the settings, with their names, meanings and defaults. */
export function settingsHelp(table: SettingTable): string {
  const indent = Math.max(...Object.keys(table).map((name) => name.length)) + 4;
  const rows = Object.entries(table).map(([name, { what, fallback, isSecret }]) => {
    const standard =
      fallback === undefined ? "Required." : fallback === "" ? "Optional." : `Default: ${fallback}`;
    const file = isSecret ? `Or ${name}_FILE: a file that contains it.` : undefined;
    const words = [`${what}.`, file, standard].filter((each) => each !== undefined).join(" ");
    return `  ${name.padEnd(indent - 2)}${wrapped(words, indent)}`;
  });
  return rows.join("\n");
}

/** Wraps words into lines, which are indented by `indent` spaces. */
function wrapped(words: string, indent: number): string {
  const lines = [""];
  for (const word of words.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && indent + last.length + word.length >= WIDTH) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines.join(`\n${" ".repeat(indent)}`);
}
