import { readFileSync } from "node:fs";
import { format as formatText } from "oxfmt";

const { ignorePatterns: _, ...options } = JSON.parse(readFileSync(".oxfmtrc.json", "utf8"));

/** Returns a text as `oxfmt` would format it in the file `path`. Throws if the text cannot be parsed. */
export async function format(path, text) {
  const { code, errors } = await formatText(path, text, options);
  if (errors.length > 0) throw new Error(`${path} cannot be formatted: ${errors[0].message}`);
  return code;
}
