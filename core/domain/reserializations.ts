type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** How a program writes JSON. */
interface JsonStyle {
  readonly comma: string;
  readonly colon: string;
  readonly isSorted: boolean;
  readonly escape: (text: string) => string;
}

const keep = (text: string): string => text;
const unicode = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
const ascii = (text: string): string => text.replaceAll(/[^\0-\x7e]/g, unicode);
const html = (text: string): string => text.replaceAll(/[<>&\u2028\u2029]/g, unicode);
const slashes = (text: string): string => ascii(text).replaceAll("/", "\\/");

const COMPACT = { comma: ",", colon: ":" } as const;
const SPACED = { comma: ", ", colon: ": " } as const;

/**
 * The JSON styles of common libraries for JavaScript, Ruby, Python, PHP and Go, most of them with and without sorted
 * keys.
 */
const STYLES: readonly JsonStyle[] = [
  { ...COMPACT, isSorted: false, escape: keep },
  { ...SPACED, isSorted: false, escape: ascii },
  { ...SPACED, isSorted: false, escape: keep },
  { ...COMPACT, isSorted: true, escape: keep },
  { ...COMPACT, isSorted: true, escape: html },
  { ...COMPACT, isSorted: false, escape: html },
  { ...SPACED, isSorted: true, escape: ascii },
  { ...COMPACT, isSorted: false, escape: ascii },
  { ...COMPACT, isSorted: true, escape: ascii },
  { ...SPACED, isSorted: true, escape: keep },
  { ...COMPACT, isSorted: false, escape: slashes },
];

/**
 * Maximum depth and number of the values that are serialized again. Serializing so many values takes about a
 * millisecond.
 */
const DEPTH_MAX = 32;
const VALUES_MAX = 500;

/**
 * Returns the forms in which common libraries would write a JSON text after parsing it, except duplicates and the text
 * itself. Returns an empty list when the text is not JSON, or contains too many values.
 */
export function reserializations(text: string): readonly string[] {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return [];
  }
  if (countValues(value, DEPTH_MAX) > VALUES_MAX) return [];
  const indented = [2, 4].map((spaces) => JSON.stringify(value, undefined, spaces));
  const written = [...STYLES.map((style) => write(value, style)), ...indented];
  return [...new Set(written)].filter((each) => each !== text);
}

/** Returns the number of values, or more than `VALUES_MAX` if there are too many or they are nested too deeply. */
function countValues(value: Json, depth: number): number {
  if (typeof value !== "object" || value === null) return 1;
  if (depth === 0) return VALUES_MAX + 1;
  let count = 1;
  for (const each of Object.values(value) as readonly Json[]) {
    count += countValues(each, depth - 1);
    if (count > VALUES_MAX) break;
  }
  return count;
}

function write(value: Json, style: JsonStyle): string {
  if (typeof value === "string") return style.escape(JSON.stringify(value));
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map((each) => write(each, style)).join(style.comma)}]`;
  const keys = style.isSorted ? Object.keys(value).toSorted() : Object.keys(value);
  const fields = keys.map((key) => `${write(key, style)}${style.colon}${write(value[key] ?? null, style)}`);
  return `{${fields.join(style.comma)}}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
