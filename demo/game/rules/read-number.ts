/**
 * A typed number. A number whose only separator comes before its last three digits is `unclear`: "42,195" can be 42195
 * or 42.195.
 */
export type TypedNumber =
  | { readonly is: "number"; readonly value: number }
  | { readonly is: "unclear"; readonly whole: string; readonly decimal: string }
  | { readonly is: "none" };

const NONE: TypedNumber = { is: "none" };
const MINUS = /^[\u2010-\u2013\u2212]/;
/** The sign, the digits with their separators, and the unit. */
const FORM = /^([+-]?) ?(\d(?:[\d .,'_]*\d)?) ?(%|°|[\p{L}\p{M}]*)$/u;
/**
 * Groups of three digits with spaces, apostrophes or underscores between the groups. Unlike points and commas, these
 * characters always separate thousands.
 */
const CLEAR_GROUPS = /^\d{1,3}(?:([ '_])\d{3})(?:\1\d{3})*(?=$|[.,])/;
const WHOLE_MAX_DIGITS = 12;
const DECIMALS_MAX = 6;

/**
 * Reads a number that a member typed. The number can have digits of any script, separators for thousands or decimals,
 * and a unit. The result is `none` for any other text.
 *
 * @param isUnit returns whether a word after the digits is a unit
 */
export function readNumber(text: string, isUnit: (word: string) => boolean): TypedNumber {
  const [, sign = "", typed = "", unit = ""] = FORM.exec(normalized(text)) ?? [];
  if (typed === "" || (unit !== "" && !isUnit(unit))) return NONE;
  const hasGroups = CLEAR_GROUPS.test(typed);
  const digits = hasGroups ? typed.replaceAll(/[ '_]/g, "") : typed;
  const marks = digits.replaceAll(/\d/g, "");
  const first = digits.search(/\D/);
  const [whole = "", decimals = ""] = digits.split(/\D/);
  if (marks === "") return numberOf(sign, digits, "");
  if (marks.length === 1 && (marks === "." || marks === ",")) {
    const canBeGroup = decimals.length === 3 && /^[1-9]\d{0,2}$/.test(whole) && !hasGroups;
    return canBeGroup
      ? { is: "unclear", whole: sign + whole + decimals, decimal: `${sign}${whole}.${decimals}` }
      : numberOf(sign, whole, decimals);
  }
  if (!/^[.,]+$/.test(marks)) return NONE;
  // If the last of several separators differs from the others, it is the decimal separator, as in 1.234,5.
  const last = digits.search(/\D\d*$/);
  const isDecimal = digits[last] !== digits[first];
  const groups = isDecimal ? digits.slice(0, last) : digits;
  if (hasGroups || !/^\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*$/.test(groups)) return NONE;
  return numberOf(sign, groups.replaceAll(/\D/g, ""), isDecimal ? digits.slice(last + 1) : "");
}

function numberOf(sign: string, whole: string, decimals: string): TypedNumber {
  if (whole.length > WHOLE_MAX_DIGITS || decimals.length > DECIMALS_MAX) return NONE;
  return { is: "number", value: Number(`${sign}${whole}.${decimals}0`) };
}

/** Returns the text with ASCII digits, separators and signs, and without the marks that set its direction. */
function normalized(text: string): string {
  return text
    .normalize("NFKC")
    .replaceAll(/\p{Bidi_Control}/gu, "")
    .replaceAll(/\p{Nd}/gu, digitOf)
    .replaceAll(/[’\u066c]/g, "'")
    .replaceAll("\u066b", ".")
    .replaceAll(/\s+/g, " ")
    .trim()
    .replace(MINUS, "-");
}

/** Returns the ASCII digit for a digit of any script. The digits 0 to 9 of a script have consecutive code points. */
function digitOf(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let before = 0;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(code - before - 1))) before++;
  return String(before % 10);
}
