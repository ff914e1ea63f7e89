import { isAbsolute, relative, sep } from "node:path";

/**
 * Returns the command that starts a bridge with a settings file. The command has the form with which this process was
 * started, e.g. `npx`.
 */
export function startLine(program: string, file: string, script = process.argv[1] ?? ""): string {
  const command = script.endsWith(".mjs")
    ? `node ${shellWord(shortPath(script))}`
    : script.split(sep).includes("node_modules")
      ? `npx ${program}`
      : program;
  return `${command} --config ${shellWord(shortPath(file))}`;
}

/** Returns the path, relative to the current folder if that is shorter. */
function shortPath(path: string): string {
  const short = relative(process.cwd(), path);
  return isAbsolute(short) || short.length >= path.length ? path : short;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
