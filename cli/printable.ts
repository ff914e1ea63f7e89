/**
 * What must not reach a terminal as it is: controls, which make up escape
 * sequences; marks that reorder or hide text; line ends of other kinds; halves of
 * characters. The two joiners stay: scripts and emoji need them.
 */
const UNPRINTABLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A text of whoever, in one line that a terminal only shows. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return SHORT[character] ?? (code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`);
  });
}

/** JSON in one line with the same value, of which a terminal makes nothing either. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(UNPRINTABLE, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
