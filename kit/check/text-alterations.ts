import { sign } from "../signature";
import { entriesOf } from "./bad-signatures";

/** A way in which programs alter text by mistake. */
export interface Alteration {
  /** The alteration as a participle, such as "decoded as Latin-1". */
  readonly as: string;
  /** Returns the altered text, or the bytes if they are not UTF-8. */
  alter(text: string): string | Buffer;
}

const OUTSIDE_ASCII = /[^\0-\x7f]/gu;
const ABOVE_BMP = /[^\0-\uffff]/gu;
const inBytes = (text: string | Buffer) => (typeof text === "string" ? Buffer.from(text) : text);

/** Returns text with JSON escapes in place of all characters outside ASCII. JSON keeps its meaning. */
export function inAsciiJson(text: string): string {
  return text.replaceAll(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Common alterations. The first alteration that explains a difference is reported. */
const ALTERATIONS: readonly Alteration[] = [
  { as: "decoded as Latin-1", alter: (text) => inBytes(text).toString("latin1") },
  { as: "decoded as Windows-1252", alter: (text) => new TextDecoder("windows-1252").decode(inBytes(text)) },
  {
    as: "decoded as ASCII, without the highest bit of each byte",
    alter: (text) => inBytes(text).toString("ascii"),
  },
  {
    as: "decoded as ASCII, with U+FFFD for each other byte",
    alter: (text) => inBytes(text).toString("latin1").replaceAll(OUTSIDE_ASCII, "\ufffd"),
  },
  {
    as: "encoded as Latin-1, with ? for each other character",
    alter: (text) => Buffer.from(text.replaceAll(/[^\0-\xff]/gu, "?"), "latin1"),
  },
  {
    as: "encoded as ASCII, with ? for each other character",
    alter: (text) => text.replaceAll(OUTSIDE_ASCII, "?"),
  },
  {
    as: "encoded as ASCII, with ? for each other UTF-16 unit",
    alter: (text) => text.replaceAll(/[^\0-\x7f]/g, "?"),
  },
  { as: "stripped of all characters outside ASCII", alter: (text) => text.replaceAll(OUTSIDE_ASCII, "") },
  { as: "written with JSON escapes in place of characters outside ASCII", alter: inAsciiJson },
  ...(["NFC", "NFD", "NFKC", "NFKD"] as const).map((form) => ({
    as: `normalized to ${form}`,
    alter: (text: string) => text.normalize(form),
  })),
  { as: "stripped of all characters above U+FFFF", alter: (text) => text.replaceAll(ABOVE_BMP, "") },
  {
    as: "stored with U+FFFD for each character above U+FFFF",
    alter: (text) => text.replaceAll(ABOVE_BMP, "\ufffd"),
  },
  { as: "stored with ? for each character above U+FFFF", alter: (text) => text.replaceAll(ABOVE_BMP, "?") },
  {
    as: "stored with ? for each surrogate",
    alter: (text) => text.replaceAll(/[\ud800-\udfff]/g, "?"),
  },
  {
    as: "stripped of invisible characters",
    alter: (text) => text.replaceAll(/[\p{Cf}\ufe0e\ufe0f]/gu, ""),
  },
  {
    as: "written with ASCII spaces in place of other spaces",
    alter: (text) => text.replaceAll(/\p{Zs}/gu, " "),
  },
  { as: "changed to lower case", alter: (text) => text.toLowerCase() },
  { as: "changed to upper case", alter: (text) => text.toUpperCase() },
  { as: "trimmed", alter: (text) => text.trim() },
];

/** Returns the alterations that change `text`. */
export function alterationsOf(text: string): readonly Alteration[] {
  const bytes = inBytes(text);
  return ALTERATIONS.filter(({ alter }) => !inBytes(alter(text)).equals(bytes));
}

/** A text that was found in place of a text that was sent. */
export interface Found {
  /** The acceptable forms of the sent text. */
  readonly forms: readonly string[];
  readonly found: string;
}

/** Returns the alteration that explains all differences, as a participle; undefined if no common alteration does. */
export function alterationOf(texts: readonly Found[]): string | undefined {
  const areAll = (is: (form: string, found: string) => boolean) =>
    texts.every(({ forms, found }) => forms.some((form) => is(form, found)));
  const alteration = ALTERATIONS.find(({ alter }) =>
    areAll((form, found) => alter(form).toString() === found),
  );
  if (alteration !== undefined) return alteration.as;
  return areAll((form, found) => found !== "" && form.startsWith(found)) ? "cut" : undefined;
}

/**
 * Finds the alteration that a program applies to bodies before it computes their digests. `isAccepted` sends the
 * program a body whose signature has one entry for each given alteration of the body, and resolves to whether the
 * program accepts the body.
 */
export async function hashedAlteration(
  body: string,
  isAccepted: (alterations: readonly Alteration[]) => Promise<boolean>,
): Promise<Alteration | undefined> {
  let left = alterationsOf(body);
  if (!(await isAccepted(left))) return undefined;
  while (left.length > 1) {
    const half = left.slice(0, Math.ceil(left.length / 2));
    left = (await isAccepted(half)) ? half : left.slice(half.length);
  }
  return left[0];
}

/** Returns a signature header with one entry for each of these alterations of the body. */
export function signAltered(
  body: string,
  alterations: readonly Alteration[],
  secrets: readonly string[],
): string {
  const nowMs = Date.now();
  const headers = alterations.map(({ alter }) => sign(alter(body), secrets, nowMs));
  return headers.map((header, i) => (i === 0 ? header : entriesOf(header))).join("");
}

const POINTS_MOST = 24;

/** Returns the code points of a text, such as "U+0065 U+0301", so that a reader sees invisible characters too. */
export function inCodePoints(text: string): string {
  const points = Array.from(text, (each) => each.codePointAt(0) ?? 0);
  const names = points
    .slice(0, POINTS_MOST)
    .map((point) => `U+${point.toString(16).toUpperCase().padStart(4, "0")}`);
  return names.length === 0 ? "nothing" : `${names.join(" ")}${points.length > POINTS_MOST ? " …" : ""}`;
}
