/** Characters that a secret often begins or ends with by mistake, each with its name and its usual source. */
const STRAY: readonly (readonly [RegExp, string, string])[] = [
  [/[\r\n]/, "a line break", "a file, or echo in place of printf"],
  [/\uFEFF/, "a byte order mark", "a file that was saved as UTF-8 with BOM"],
  [/["'`\u2018-\u201F]/, "a quotation mark", "a settings file that is read with its quotation marks"],
  [/\s/, "white space", "a copied line"],
  [/[\p{Cc}\p{Cf}]/u, "an invisible character", "a copied web page"],
];

/**
 * Returns why a string cannot be a signing secret, and the usual source of the fault; undefined if there is no fault. A
 * secret that the service made begins and ends with a letter, a digit, "-" or "_". The result never contains a part of
 * the secret.
 */
export function secretFault(secret: string): string | undefined {
  if (secret === "") return "a signing secret is missing: give the secret that the dashboard showed";
  const ends = [
    ["begins", secret.slice(0, 1)],
    ["ends", secret.slice(-1)],
  ] as const;
  for (const [where, character] of ends) {
    const stray = STRAY.find(([form]) => form.test(character));
    if (stray !== undefined) return faultOf(`${where} with ${stray[1]}`, character, stray[2]);
  }
  if (!/[\r\n]/.test(secret)) return undefined;
  return "a signing secret contains a line break: give the two secrets of a rotation as a list";
}

function faultOf(what: string, character: string, source: string): string {
  const point = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return `a signing secret ${what} (U+${point}), which usually comes from ${source}: remove the character`;
}

/** Returns the text of a file without the byte order mark that some editors write at its beginning. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}
